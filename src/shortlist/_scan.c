/* What reads many scores: maxima of blocks, levels and histograms, each in one pass.
 *
 * Optional: every function here has a twin in NumPy that gives the same numbers bit for bit, and that is used where
 * this was not built or does not fit (see _scan.py). Nothing here draws, allocates or remembers anything. Loops
 * are written so that a compiler turns them into vector code without being told that floats may be reordered.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>

#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "floats must be rounded after each operation, as NumPy rounds them"
#endif

#ifdef SEVERAL_PROCESSORS /* one function for each kind of processor, chosen when the library is loaded */
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif
#define EXPORT __attribute__((visibility("default")))

enum {
    STREAMS = 4,  /* so many parts of the scores are read side by side: one alone leaves memory idle */
    AHEAD = 2048, /* bytes by which each of them is asked for ahead */
    LANES = 32,   /* bytes that are compared at once, two and two */
    SOON = 24,    /* so many scores ahead the next one is asked for, where they stand here and there */
    BINS = 201,   /* heights -50, -49.5, .., 50 */
    KINDS = 64    /* more than there are levels */
};

static const double FAR = 1e300; /* positions are clamped here */

/* How positions follow from scores, and levels from positions: score_intervals.py and skip_schedule.py. */
typedef struct {
    double factor;     /* 1 / scale */
    double threshold;
    double tail;       /* the decay of the noise is its distance plus this */
    double slack;
    double bits;       /* per unit of decay */
    double most;       /* the largest level */
    int64_t whole;     /* the centre of integers */
    double centre;     /* the centre of floats */
    const int8_t *rounded; /* the level for each whole number of bits */
} Rule;

static inline int8_t level_of(double height, const Rule *rule)
{
    double distance = rule->threshold - height;
    double decay = distance - rule->slack * (1 + fabs(rule->threshold) + fabs(height)) + rule->tail;
    double bits = decay * rule->bits - rule->slack;
    bits = bits > 0 ? bits : 0; /* NaN too: scores may change under our hands, and no index may leave its table */
    bits = bits > rule->most ? rule->most : bits;
    return rule->rounded[(int8_t)bits];
}

/* The bin of a height, floor(2 height) + 101; those below -50 are in 0, which nobody reads, those above 50 in the last. */
static inline int bin_of(double height)
{
    double twice = 2 * height;
    twice = twice > -101 ? twice : -101; /* NaN too */
    twice = twice > BINS - 101 ? BINS - 101 : twice;
    int below = (int)twice;
    return below - (twice < below) + 101;
}

static inline double clamped(double position)
{
    position = position < -FAR ? -FAR : position;
    return position > FAR ? FAR : position;
}

#define JOINED(a, b) a##_##b
#define NAMED(a, b) JOINED(a, b)
#define OF(name) NAMED(name, TYPE)

#define IS_FLOAT 0
#define TYPE int8
#define T int8_t
#define BITS int8_t
#include "_scan_of_type.h"
#define TYPE int16
#define T int16_t
#define BITS int16_t
#include "_scan_of_type.h"
#define TYPE int32
#define T int32_t
#define BITS int32_t
#include "_scan_of_type.h"
#define TYPE int64
#define T int64_t
#define BITS int64_t
#include "_scan_of_type.h"
#define TYPE uint8
#define T uint8_t
#define BITS uint8_t
#include "_scan_of_type.h"
#define TYPE uint16
#define T uint16_t
#define BITS uint16_t
#include "_scan_of_type.h"
#define TYPE uint32
#define T uint32_t
#define BITS uint32_t
#include "_scan_of_type.h"
#undef IS_FLOAT

#define IS_FLOAT 1
#define TYPE float32
#define T float
#define BITS int32_t
#include "_scan_of_type.h"
#define TYPE float64
#define T double
#define BITS int64_t
#include "_scan_of_type.h"

/* `starts` sorted by level, those of one level as they came; counts[j] is how many are at level j. */
EXPORT void by_level(const int64_t *starts, const int8_t *level, int64_t n, int64_t *counts, int64_t *sorted)
{
    int64_t next[KINDS];
    for (int j = 0; j < KINDS; j++)
        counts[j] = 0;
    for (int64_t i = 0; i < n; i++)
        counts[level[i]]++;
    next[0] = 0;
    for (int j = 1; j < KINDS; j++)
        next[j] = next[j - 1] + counts[j - 1];
    for (int64_t i = 0; i < n; i++)
        sorted[next[level[i]]++] = starts[i];
}

/* Of what stands here: _scan.py takes no library with another number. */
EXPORT int64_t scan_number(void)
{
    return 1;
}

#ifdef DIGEST /* of the sources, so that a build knows whether the library is theirs */
EXPORT const char scan_digest[] = DIGEST;
#endif
