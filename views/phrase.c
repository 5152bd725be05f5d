#include "views/phrase.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"

struct phrase phrase(const char *format, ...) {
    struct phrase w;
    va_list args;
    va_start(args, format);
    vsnprintf(w.text, sizeof w.text, format, args);
    va_end(args);
    return w;
}

void phrase_add(struct phrase *w, const char *format, ...) {
    size_t n = strlen(w->text);
    va_list args;
    va_start(args, format);
    vsnprintf(w->text + n, sizeof w->text - n, format, args);
    va_end(args);
}

struct phrase show_count(int64_t v) {
    char text[32];
    text_thousands(v, text);
    return v < 10000000 ? phrase("%s", text) : phrase("%.1f M", (double)v / 1e6);
}

struct phrase show_seconds(double s) {
    if (!(s >= 0 && s <= 1e9)) return phrase("\u2013");
    long all = lround(s), hours = all / 3600;
    return hours ? phrase("%ld:%02ld:%02ld", hours, all / 60 % 60, all % 60)
                 : phrase("%ld:%02ld", all / 60, all % 60);
}

struct phrase show_short_seconds(double s) {
    return s >= 0 && s < 9.95 ? phrase("%.1f s", s) : show_seconds(s);
}

struct phrase show_value(double v) {
    return isnan(v) ? phrase("\u2013") : phrase(fabs(v) < 100 ? "%.3f" : "%.4g", v);
}

struct phrase show_points(double v, bool points) {
    return points && !isnan(v) ? phrase("%.2f", 100 * v) : show_value(v);
}

struct phrase show_short(double v) {
    double size = fabs(v);
    char text[32];
    if (!isfinite(v)) return phrase("%s", isnan(v) ? "NaN" : v > 0 ? "infinite" : "-infinite");
    if (size >= 1e7 || (size > 0 && size < 1e-2)) {
        snprintf(text, sizeof text, "%.1e", v);
        char *e = strchr(text, 'e');
        int power = 0;
        sscanf(e + 1, "%d", &power);
        *e = 0;
        if (text_ends(text, ".0")) e[-2] = 0;
        return phrase("%se%d", text, power);
    }
    if (size < 1000) return phrase("%.3g", v);
    text_thousands(llround(v), text);
    return phrase("%s", text);
}
