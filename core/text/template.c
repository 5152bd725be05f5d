#include "core/text/parts.h"

void template_cut(size_t room, size_t *a, size_t *b) {
    if (*a + *b <= room) return;
    bool swapped = *a > *b;
    size_t shorter = swapped ? *b : *a, longer;
    longer = shorter > room ? shorter : room - shorter > shorter ? room - shorter : shorter;
    if (shorter + longer > room) {
        shorter = room / 2;
        longer = room - shorter;
    }
    *a = swapped ? longer : shorter;
    *b = swapped ? shorter : longer;
}
