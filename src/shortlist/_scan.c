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
#if defined(__FAST_MATH__) || __FINITE_MATH_ONLY__
#error "floats must be neither reordered nor taken for finite: -inf and NaN are compared here"
#endif

#ifdef SEVERAL_PROCESSORS /* one function for each kind of processor, chosen when the library is loaded */
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif
#define EXPORT __attribute__((visibility("default")))

enum {
    STREAMS = 6,  /* so many parts of the scores are read side by side: one alone leaves memory idle */
    TURN = 512,   /* bytes of each of them that are read in turn: so memory itself sees what comes next */
    LANES = 32,   /* bytes that are compared at once, two and two */
    SOON = 24,    /* so many scores ahead the next one is asked for, where they stand here and there */
    BINS = 201,   /* heights -50, -49.5, .., 50 */
    KINDS = 64,   /* more than there are levels */
    PLACES = 191, /* thresholds -50, -49.5, .., 45 */
    MOST = 128,   /* so many winners are found one by one */
    EIGHTHS = 400, /* eighths in 50 */
    FINE = 800,   /* sixteenths in 50 */
    SEVERAL = 128, /* so many finishes are compared each with all */
    EIGHT = 8,    /* finishes are compared so many at once */
    QUICK = 256,  /* so many logarithms are taken at once */
    TALL = 64,    /* scores in a column of a block: _scan_columns.py */
    ROWS = 8,     /* so many rows of it are compared in registers */
    PARTS = 4,    /* so many blocks are read side by side */
    SOME = 1 << 12, /* so many scores are compared with one cut after another */
    KEPT = 1 << 11, /* there is room for so many hits that enter a race by columns */
    HIT = 4,      /* the rest are of skip_columns.py */
    SPARSE = 16,
    BANDS = 4,
    BELOW = 16,
    ABOVE = 8,
    HIGHER = 8
};

enum { SHARED, OPENED, REST }; /* batches of a race by columns: of everybody, of opened columns, of what is no whole block */
enum { EXPONENTIAL, GUMBEL, LAPLACE, LOGISTIC, HALF_LOGISTIC }; /* as in rough_noise.py */

static const double FAR = 1e300; /* positions are clamped here */
static const double LN2 = 0.6931471805599453;
static const double ROUGH = 0x1p-32; /* rough_noise.py: noise is good to that */
static const uint64_t PLAIN = (uint64_t)1 << 40;
static const double BROAD = 0x1p35; /* 32 in units of 2^-30: so many scores of a sample must tell the same */

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

/* What a threshold is chosen by: positions, each worth so many candidates, and chances of noise: skip_threshold.py. */
typedef struct {
    const int64_t *places;
    int64_t n;
    const int64_t *chance, *square; /* to pass distances in half units */
    const int64_t *fine;            /* in sixteenths */
    double each;
} Sample;

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

/* 50 units in whole numbers, beyond which heights are cut; no two scores of 16 bits are further apart than its most. */
static inline int32_t whole_reach(const Rule *rule)
{
    double reach = floor(50 / rule->factor);
    return reach < 0x1p17 ? (int32_t)reach : 1 << 17;
}

/* Sixteenths of a unit in a whole number, times 2^20; then it is rounded so that no height is too large. */
static inline int32_t fine_factor(const Rule *rule)
{
    double each = floor(0x1p24 * rule->factor);
    return each < 0x1p30 ? (int32_t)each : 1 << 30;
}

/* The height in sixteenths of a score that is so far from the centre, from -50 on; 0 below that. */
static inline __attribute__((always_inline)) int32_t fine_place(int32_t far, int32_t reach, int32_t factor)
{
    int32_t near = far > reach ? reach : far < -reach ? -reach : far;
    return far < -reach ? 0 : (near * (factor + (near < 0)) >> 20) + FINE;
}

#include "_scan_noise.h"

#include "_scan_choice.h"

#include "_scan_skips.h"

#define JOINED(a, b) a##_##b
#define NAMED(a, b) JOINED(a, b)
#define OF(name) NAMED(name, TYPE)

#define IS_FLOAT 0
#define TYPE int8
#define T int8_t
#define BITS int8_t
#define IS_SHORT
#include "_scan_of_type.h"
#define TYPE int16
#define T int16_t
#define BITS int16_t
#define IS_SHORT
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
#define IS_SHORT
#include "_scan_of_type.h"
#define TYPE uint16
#define T uint16_t
#define BITS uint16_t
#define IS_SHORT
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

enum { LEVEL, LENGTH, STRIDE, GROUPS, WORDS, COLUMNS }; /* what is said of a batch of groups: skipping.py */

/* The candidates that are hit, batch by batch, and their levels: how many. Negative: floats or words do not suffice.
 *
 * Each batch has so many of the words, of which the first is in `firsts`; none, if it surely has no hit. */
EXPORT int64_t hits(
    const int64_t *batch, int64_t batches, const int64_t *starts, const uint64_t *firsts, const uint64_t *words,
    int64_t *index, int64_t *level)
{
    int64_t count = 0;
    double logs[QUICK];
    for (int64_t b = 0; b < batches; b++, starts += batch[GROUPS], words += batch[WORDS], batch += COLUMNS) {
        int64_t length = batch[LENGTH], stride = batch[STRIDE], trials = length * batch[GROUPS], before = count;
        if (batch[LEVEL] == 0) {
            for (int64_t group = 0; group < batch[GROUPS]; group++)
                for (int64_t i = 0; i < length; i++)
                    index[count++] = starts[group] + i * stride;
        } else if (batch[WORDS]) {
            Skips skips = skips_of(batch[LEVEL], trials);
            int shift = length & (length - 1) ? 0 : __builtin_ctzll((uint64_t)length);
            int64_t place = -1, used = 0;
            for (; used < batch[WORDS] && place < trials; used++) {
                if (used % QUICK == 0)
                    quick_logs(words + used, batch[WORDS] - used < QUICK ? batch[WORDS] - used : QUICK, logs);
                int64_t failures = used ? failures_of(words[used], logs[used % QUICK], &skips)
                                        : failures_of(firsts[b], -INFINITY, &skips);
                if (failures < 0)
                    return -1;
                place += failures + 1;
                if (place < trials) {
                    int64_t group = shift ? place >> shift : length == 1 ? place : place / length;
                    index[count++] = starts[group] + (place - group * length) * stride;
                }
            }
            if (place < trials)
                return -1;
        }
        for (; before < count; before++)
            level[before] = batch[LEVEL];
    }
    return count;
}

/* The hits of many rows, which come level by level and counted through rows and candidates, sorted by their rows.
 *
 * A level has sizes[level] candidates, from firsts[level] on in `starts`. `ends` is where each row's hits end, `room` is
 * for a number of each hit. A place is below 2^40, so that in floats half a place beyond it is in the row that it is in. */
EXPORT void by_row(
    const int64_t *place, const int64_t *level, int64_t n, const int64_t *sizes, const int64_t *firsts,
    const int64_t *starts, int64_t rows, int64_t *room, int64_t *ends, int64_t *index, int64_t *sorted)
{
    int64_t before = 0;
    for (int64_t i = 0; i < rows; i++)
        ends[i] = 0;
    for (int64_t i = 0; i < n;) {
        const int64_t own = level[i];
        const double each = 1. / (double)sizes[own];
        for (; i < n && level[i] == own; i++) {
            room[i] = (int64_t)(((double)place[i] + .5) * each);
            ends[room[i]]++;
        }
    }
    for (int64_t i = 0; i < rows; i++) { /* where its hits begin, and each of them moves it on */
        int64_t own = ends[i];
        ends[i] = before;
        before += own;
    }
    for (int64_t i = 0; i < n;) {
        const int64_t own = level[i], size = sizes[own], *members = starts + firsts[own];
        for (; i < n && level[i] == own; i++) {
            int64_t at = ends[room[i]]++;
            index[at] = members[place[i] - room[i] * size];
            sorted[at] = own;
        }
    }
}

/* The noise of many words, for tests: finishes are compared by it, in one race or in rows. */
EXPORT void noises(const uint64_t *words, const int64_t *level, int64_t n, int kind, int in_rows, double *noise)
{
    for (int64_t i = 0; i < n; i++) {
        double quick, of_rows;
        quick_logs(words + i, 1, &quick);
        gumbels(words + i, level + i, 1, &quick, &of_rows);
        noise[i] = quick_noise(words[i], level[i], kind, quick);
        if (in_rows && kind == GUMBEL && is_gumbel(words[i], level[i], quick))
            noise[i] = of_rows;
    }
}

/* Of what stands here: _scan.py takes no library with another number. */
EXPORT int64_t scan_number(void)
{
    return 8;
}

#ifdef DIGEST /* of the sources, so that a build knows whether the library is theirs */
EXPORT const char scan_digest[] = DIGEST;
#endif
