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
    AHEAD = 512,  /* bytes by which each of them is asked for ahead */
    LANES = 32,   /* bytes that are compared at once, two and two */
    SOON = 24,    /* so many scores ahead the next one is asked for, where they stand here and there */
    BINS = 201,   /* heights -50, -49.5, .., 50 */
    KINDS = 64,   /* more than there are levels */
    SHORT = 32    /* the most winners that are found one by one */
};

enum { EXPONENTIAL, GUMBEL, LAPLACE, LOGISTIC, HALF_LOGISTIC }; /* as in rough_noise.py */

static const double FAR = 1e300; /* positions are clamped here */
static const double LN2 = 0.6931471805599453;
static const double ROUGH = 0x1p-32; /* rough_noise.py: noise is good to that */
static const uint64_t PLAIN = (uint64_t)1 << 40;

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

/* Noise plus a constant, the same for all words: rough_noise.py. */
static inline double rough_noise(uint64_t word, int kind)
{
    int64_t half = (int64_t)(word >> 1), rest = INT64_MAX - half;
    switch (kind) {
    case EXPONENTIAL:
        return -log((double)half);
    case GUMBEL:
        return -log(-log1p((double)half * -0x1p-63));
    case LAPLACE:
        return copysign(log((double)(half < rest ? half : rest) * 0x1p-62), (double)(((int64_t)1 << 62) - half));
    case LOGISTIC:
        return log((double)rest) - log((double)half);
    default:
        return log(0x1p64 - (double)half) - log((double)half);
    }
}

/* What that is below, if the word starts with so many zeros: U >= 2^-(zeros + 1), and -ln U tells of each kind. */
static inline double most_noise(uint64_t word, int kind)
{
    static const int more[] = {-62, 1, 0, 1, 2};
    return (more[kind] + __builtin_clzll(word)) * LN2 + 1e-6;
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

/* Rough noise of many words, for tests: winners below compares by it. */
EXPORT void rough(const uint64_t *words, int64_t n, int kind, double *noise)
{
    for (int64_t i = 0; i < n; i++)
        noise[i] = rough_noise(words[i], kind);
}

/* Of what stands here: _scan.py takes no library with another number. */
EXPORT int64_t scan_number(void)
{
    return 2;
}

#ifdef DIGEST /* of the sources, so that a build knows whether the library is theirs */
EXPORT const char scan_digest[] = DIGEST;
#endif
