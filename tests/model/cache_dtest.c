#include "tests/model/cache_cases.h"
