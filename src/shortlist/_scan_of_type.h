/* The functions of _scan.c for one type of scores. A score is at `x + i * step` bytes: arrays may be strided. */

typedef T OF(lanes) __attribute__((vector_size(LANES)));
typedef T OF(loaded) __attribute__((vector_size(LANES), aligned(sizeof(T)), may_alias));
typedef BITS OF(mask) __attribute__((vector_size(LANES)));

#define AT(i) (*(const T *)(x + (i) * step))
#if IS_FLOAT
#define IS_NAN(score) ((score) != (score))
#else
#define IS_NAN(score) 0
#endif

/* The largest of `run` scores, in `streams` places that are `apart` bytes from each other and take turns of so many bytes;
 * whether one is NaN. */
static inline __attribute__((always_inline)) int OF(side_by_side)(
    const char *x, int64_t apart, int64_t run, int streams, int turn, T *largest, int64_t next)
{
    OF(lanes) best[STREAMS][2];
    OF(mask) odd = {0};
    int nan = 0;
    for (int s = 0; s < streams; s++)
        best[s][0] = best[s][1] = *(const OF(loaded) *)(x + s * apart);
    for (const char *end = x + run * (int64_t)sizeof(T); x < end; x += turn)
        for (int s = 0; s < streams; s++)
            for (int part = 0; part < turn / LANES; part++) {
                OF(lanes) here = *(const OF(loaded) *)(x + s * apart + part * LANES), *most = &best[s][part % 2];
                OF(mask) more = here > *most;
                *most = (OF(lanes))(((OF(mask))here & more) | ((OF(mask))*most & ~more));
#if IS_FLOAT
                odd |= here != here;
#endif
            }
    for (int s = 0; s < streams; s++) {
        OF(mask) first = best[s][0] > best[s][1];
        OF(lanes) both = (OF(lanes))(((OF(mask))best[s][0] & first) | ((OF(mask))best[s][1] & ~first));
        T each[LANES / sizeof(T)], most;
        __builtin_memcpy(each, &both, sizeof each);
        most = each[0];
        for (int j = 0; j < (int)(LANES / sizeof(T)); j++)
            most = each[j] > most ? each[j] : most;
        largest[s * next] = most;
    }
    for (int j = 0; j < (int)(LANES / sizeof(T)); j++)
        nan |= odd[j] != 0;
    return nan;
}

/* The same of one run, wherever its scores stand. */
static inline __attribute__((always_inline)) int OF(one_by_one)(const char *x, int64_t step, int64_t run, T *largest)
{
    T best[4] = {AT(0), AT(0), AT(0), AT(0)};
    int nan = 0;
    int64_t i = 0;
    for (; i + 4 <= run; i += 4)
        for (int j = 0; j < 4; j++) {
            T score = AT(i + j);
            best[j] = score > best[j] ? score : best[j];
            nan |= IS_NAN(score);
        }
    for (; i < run; i++) {
        best[0] = AT(i) > best[0] ? AT(i) : best[0];
        nan |= IS_NAN(AT(i));
    }
    for (int j = 1; j < 4; j++)
        best[0] = best[j] > best[0] ? best[j] : best[0];
    *largest = best[0];
    return nan;
}

/* The largest score of each run, the last of which may be shorter; whether one is NaN, and then they mean nothing. */
EXPORT FAST int OF(run_maxima)(const char *x, int64_t step, int64_t count, int64_t run, T *largest)
{
    int64_t runs = count / run, done = 0, rest = count % run;
    int nan = 0;
    if (step == sizeof(T) && run * step % (2 * LANES) == 0) {
        int64_t part = runs / STREAMS, size = run * step;
        for (int64_t b = 0; b < part && size % TURN == 0; b++, done += STREAMS)
            nan |= OF(side_by_side)(x + b * size, part * size, run, STREAMS, TURN, largest + b, part);
        for (int64_t b = 0; b < part && size % TURN; b++, done += STREAMS)
            nan |= OF(side_by_side)(x + b * size, part * size, run, STREAMS, 2 * LANES, largest + b, part);
        for (; done < runs; done++)
            nan |= OF(side_by_side)(x + done * size, 0, run, 1, 2 * LANES, largest + done, 0);
    }
    for (; done < runs; done++)
        nan |= OF(one_by_one)(x + done * run * step, step, run, largest + done);
    if (rest)
        nan |= OF(one_by_one)(x + runs * run * step, step, rest, largest + runs);
    return nan;
}

/* For each of these blocks, seen as rows of so many columns, the largest score of each column. */
EXPORT FAST void OF(column_maxima)(
    const char *x, int64_t step, int64_t block, int64_t columns, const int64_t *blocks, int64_t n, T *largest)
{
    for (int64_t b = 0; b < n; b++, largest += columns) {
        const char *row = x + blocks[b] * block * step;
        int64_t next = b + 1 < n ? (blocks[b + 1] - blocks[b]) * block * step : 0; /* how far the next block is */
        for (int64_t c = 0; c < columns; c++)
            largest[c] = *(const T *)(row + c * step);
        for (int64_t r = columns; r < block; r += columns) {
            row += columns * step;
            if (step == sizeof(T)) {
                const T *here = (const T *)row;
                for (int64_t byte = 0; byte < columns * step; byte += 64)
                    __builtin_prefetch(row + next + byte);
                for (int64_t c = 0; c < columns; c++)
                    largest[c] = here[c] > largest[c] ? here[c] : largest[c];
            } else {
                for (int64_t c = 0; c < columns; c++) {
                    T score = *(const T *)(row + c * step);
                    largest[c] = score > largest[c] ? score : largest[c];
                }
            }
        }
    }
}

/* The position of a score; whether it left the range in which this is the whole computation. */
static inline __attribute__((always_inline)) double OF(height_of)(T score, const Rule *rule, int *lost)
{
#if IS_FLOAT
    double difference = (double)score - rule->centre;
    *lost |= difference == INFINITY || (difference == -INFINITY && score != (T)-INFINITY);
#else
    int64_t whole;
    *lost |= __builtin_sub_overflow((int64_t)score, rule->whole, &whole);
    double difference = (double)whole;
#endif
    return clamped(difference * rule->factor);
}

/* Groups sorted by the level of their largest score, those of one level as they come; how many are at each level.
 *
 * The scores are those at `index`, or the first n if there is none. Group i starts at `size` times starts[i], or times i
 * if there are no starts. `higher` is how many scores stand above that height. Nonzero: not to be used. */
EXPORT int OF(by_level)(
    const char *x, int64_t step, const int64_t *index, int64_t n, const Rule *rule, double above, const int64_t *starts,
    int64_t size, int8_t *level, int64_t *sorted, int64_t *counts, int64_t *higher)
{
    int64_t next[KINDS], count = 0;
    int lost = 0;
    for (int j = 0; j < KINDS; j++)
        counts[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (index)
            __builtin_prefetch(x + index[i + SOON < n ? i + SOON : i] * step);
        double height = OF(height_of)(AT(index ? index[i] : i), rule, &lost);
        level[i] = level_of(height, rule);
        counts[level[i]]++;
        count += height > above;
    }
    *higher = count;
    next[0] = 0;
    for (int j = 1; j < KINDS; j++)
        next[j] = next[j - 1] + counts[j - 1];
    for (int64_t i = 0; i < n; i++)
        sorted[next[level[i]]++] = (starts ? starts[i] : i) * size;
    return lost;
}

/* The height of each score in eighths, floor(8 height) + EIGHTHS, cut at both ends; how many stand at each.
 * Nonzero: not to be used. */
EXPORT int OF(eighths)(const char *x, int64_t step, int64_t n, const Rule *rule, int16_t *places, int64_t *counts)
{
    int lost = 0;
    for (int64_t i = 0; i < n; i++) {
        double eight = 8 * OF(height_of)(AT(i), rule, &lost);
        eight = eight > -EIGHTHS ? eight : -EIGHTHS; /* NaN too */
        eight = eight > EIGHTHS ? EIGHTHS : eight;
        int below = (int)eight;
        places[i] = (int16_t)(below - (eight < below) + EIGHTHS);
        counts[places[i]]++;
    }
    return lost;
}

/* How many scores of each of these blocks stand at each height. Nonzero: not to be used. */
EXPORT int OF(histograms)(
    const char *x, int64_t step, int64_t block, const int64_t *blocks, int64_t n, const Rule *rule, int64_t *counts)
{
    int lost = 0;
    for (int64_t b = 0; b < n; b++, counts += BINS) {
        int64_t held[BINS + 1] = {0};
        for (int64_t i = blocks[b] * block; i < (blocks[b] + 1) * block; i++)
            held[bin_of(OF(height_of)(AT(i), rule, &lost))]++;
        for (int j = 0; j < BINS; j++)
            counts[j] = held[j + 1];
    }
    return lost;
}

/* The place in the grid of thresholds, by the maxima of blocks and a sample of the scores. Below -1: not to be used. */
EXPORT int OF(threshold)(
    const T *tops, int64_t blocks, const char *x, int64_t step, const Rule *rule, const Sample *sample, double enough)
{
    int64_t by_tops[BINS + 1] = {0}, by_sample[BINS + 1] = {0}, n = sample->n;
    int lost = 0;
    for (int64_t i = 0; i < n; i++)
        __builtin_prefetch(x + sample->places[i] * step);
    for (int64_t i = 0; i < blocks; i++)
        by_tops[bin_of(OF(height_of)(tops[i], rule, &lost))]++;
    for (int64_t i = 0; i < n; i++)
        by_sample[bin_of(OF(height_of)(AT(sample->places[i]), rule, &lost))]++;
    return lost ? -2 : crowded_place(by_tops + 1, by_sample + 1, sample, enough);
}

/* The k-th largest score. */
EXPORT void OF(kth_largest)(const char *x, int64_t step, int64_t n, int64_t k, T *kth)
{
    T best[MOST]; /* falling */
    for (int64_t i = 0; i < n; i++) {
        T score = AT(i);
        int64_t place = i < k ? i : k;
        if (place == k && !(score > best[k - 1]))
            continue;
        for (place -= place == k; place > 0 && score > best[place - 1]; place--)
            best[place] = best[place - 1];
        best[place] = score;
    }
    *kth = best[k - 1];
}

/* The k highest finishes, best first, where that is clear: of the first n candidates, or of those at `index`, whose
 * uniforms start with so many zeros; then all of them finish above `floor`, surely. Zero: it is not clear. */
EXPORT int OF(winners)(
    const char *x, int64_t step, const int64_t *index, const int64_t *level, int64_t n, const uint64_t *words, int64_t k,
    int kind, double factor, int64_t whole, double centre, double floor, int64_t *places)
{
    const Rule rule = {.factor = factor, .whole = whole, .centre = centre};
    Best best = best_above(floor, k);
    double logs[QUICK];
    int lost = 0;
    for (int64_t i = 0; i < n; i++) {
        if (index)
            __builtin_prefetch(x + index[i + SOON < n ? i + SOON : i] * step);
        if (kind <= GUMBEL && i % QUICK == 0)
            quick_logs(words + i, n - i < QUICK ? n - i : QUICK, logs);
        uint64_t word = words[i];
        int64_t zeros = level ? level[i] : 0;
        if (word < PLAIN || word >= -PLAIN)
            return 0;
        double z = OF(height_of)(AT(index ? index[i] : i), &rule, &lost);
        if (kind != EXPONENTIAL && z + most_noise(word, zeros, kind) < best.least)
            continue;
        z += kind <= GUMBEL ? quick_noise(word, zeros, kind, logs[i % QUICK]) : noise_of(word, zeros, kind);
        enters(&best, z, i);
    }
    if (lost || !are_clear(&best))
        return 0;
    for (int64_t i = 0; i < k; i++)
        places[i] = best.place[i];
    return 1;
}

/* The winners of many rows of hits, in no order, where they are clear, which is said of each row; `ends` is where its
 * hits end, and `heights` is room for a number of each of the d scores.
 *
 * Of few hits each is compared with all, which waits for nothing; of many the winners are found as in a single race. */
EXPORT FAST void OF(row_winners)(
    const char *x, int64_t step, int64_t d, const int64_t *index, const int64_t *level, const int64_t *ends, int64_t rows,
    const uint64_t *words, int64_t k, int kind, double factor, int64_t whole, double centre, double floor, double *heights,
    int8_t *clear, int64_t *won)
{
    const Rule rule = {.factor = factor, .whole = whole, .centre = centre};
    const double least = floor - 1e-3 * (1 + fabs(floor));
    double z[SEVERAL], noise[SEVERAL];
    int64_t places[MOST], start = 0;
    int lost = 0;
    for (int64_t i = 0; i < d; i++)
        heights[i] = OF(height_of)(AT(i), &rule, &lost);
    for (int64_t row = 0; row < rows; start = ends[row++], won += k) {
        int64_t n = ends[row] - start;
        clear[row] = 0;
        if (lost || n < k)
            continue;
        if (n > SEVERAL) {
            clear[row] = (int8_t)OF(winners)(
                x, step, index + start, level + start, n, words + start, k, kind, factor, whole, centre, floor, places);
            for (int64_t i = 0; i < k && clear[row]; i++)
                won[i] = index[start + places[i]];
            continue;
        }
        int plain = 1;
        quick_logs(words + start, n, z);
        if (kind == GUMBEL)
            gumbels(words + start, level + start, n, z, noise);
        for (int64_t i = 0; i < n; i++) {
            uint64_t word = words[start + i];
            int64_t zeros = level[start + i];
            double height = heights[index[start + i]];
            plain &= word >= PLAIN && word < -PLAIN;
            if (kind == GUMBEL && is_gumbel(word, zeros, z[i]))
                z[i] = height + noise[i];
            else if (kind != EXPONENTIAL && height + most_noise(word | 1, zeros, kind) < least)
                z[i] = -INFINITY;
            else
                z[i] = height + quick_noise(word, zeros, kind, z[i]);
        }
        for (int64_t i = n; i % EIGHT; i++)
            z[i] = -INFINITY;
        clear[row] = (int8_t)(plain && best_of(z, n, k, floor, index + start, won));
    }
}

#ifdef IS_SHORT
#include "_scan_columns.h"
#endif

#undef AT
#undef IS_SHORT
#undef IS_NAN
#undef T
#undef BITS
#undef TYPE
