/* For integers of 8 or 16 bits: the largest scores of columns, which of these are high, and who wins. skip_columns.py has the
 * same in NumPy, and says what it is for.
 *
 * A block is TALL rows of as many scores as are compared at once. Included by _scan.c for each such type. */

#define WIDE ((int)(LANES / sizeof(T)))
#define LARGEST ((int64_t)((T)-1 > 0 ? (T)-1 : (T)(((uint64_t)1 << (8 * sizeof(T) - 1)) - 1)))
#define SMALLEST ((int64_t)((T)-1 > 0 ? 0 : -LARGEST - 1))

/* The largest score of each column of blocks in so many places, which are `apart` blocks from each other, and of each block.
 *
 * The loops have fixed lengths, and the inner ones a chain of maxima, so that a compiler keeps these in registers. */
static inline __attribute__((always_inline)) void OF(columns_of)(
    const T *x, int64_t apart, int places, T *columns, T *tops)
{
    T best[PARTS][WIDE];
    for (int p = 0; p < places; p++)
        for (int c = 0; c < WIDE; c++)
            best[p][c] = x[p * apart * TALL * WIDE + c];
    for (int r = 0; r < TALL; r += ROWS)
        for (int p = 0; p < places; p++) {
            const T *row = x + (p * apart * TALL + r) * WIDE;
            for (int c = 0; c < WIDE; c++) {
                T most = row[c];
                for (int more = 1; more < ROWS; more++)
                    most = row[more * WIDE + c] > most ? row[more * WIDE + c] : most;
                best[p][c] = most > best[p][c] ? most : best[p][c];
            }
        }
    for (int p = 0; p < places; p++) {
        T top = best[p][0];
        for (int c = 0; c < WIDE; c++) {
            columns[p * apart * WIDE + c] = best[p][c];
            top = best[p][c] > top ? best[p][c] : top;
        }
        tops[p * apart] = top;
    }
}

/* How many of these scores are at or above each cut. */
static inline __attribute__((always_inline)) void OF(at_least)(
    const T *x, int64_t n, const int64_t *cuts, int m, int64_t *counts)
{
    for (int j = 0; j < m; j++)
        counts[j] = 0;
    for (int64_t start = 0; start < n; start += SOME) {
        int some = n - start < SOME ? (int)(n - start) : SOME;
        for (int j = 0; j < m; j++) {
            T cut = (T)cuts[j];
            uint16_t count = 0;
            for (int i = 0; i < some; i++)
                count += x[start + i] >= cut;
            counts[j] += cuts[j] > LARGEST ? 0 : count;
        }
    }
}

/* The largest score of each column and of each block, of which PARTS are read side by side, unless scores are strided; and the
 * k-th largest of those of blocks, by halving what it can be. */
EXPORT FAST int64_t OF(block_columns)(const char *x, int64_t step, int64_t blocks, int64_t k, T *columns, T *tops)
{
    int64_t apart = step == sizeof(T) ? blocks / PARTS : 0, done = apart * PARTS, kth = SMALLEST, high = LARGEST;
    for (int64_t b = 0; b < apart; b++)
        OF(columns_of)((const T *)x + b * TALL * WIDE, apart, PARTS, columns + b * WIDE, tops + b);
    for (int64_t b = done; b < blocks; b++) {
        T block[TALL * WIDE];
        for (int64_t i = 0; i < TALL * WIDE; i++)
            block[i] = AT(b * TALL * WIDE + i);
        OF(columns_of)(block, 0, 1, columns + b * WIDE, tops + b);
    }
    while (kth < high) {
        int64_t middle = kth + (high - kth + 1) / 2, count;
        OF(at_least)(tops, blocks, &middle, 1, &count);
        if (count >= k)
            kth = middle;
        else
            high = middle - 1;
    }
    return kth;
}

/* A score so far from the centre, in whole numbers: at most one more than the largest of the type. */
static inline int64_t OF(score_at)(double beyond, const Rule *rule)
{
    double low = (double)(SMALLEST - rule->whole), high = (double)(LARGEST + 1 - rule->whole);
    beyond = beyond < low ? low : beyond;
    return (int64_t)(beyond > high ? high : beyond) + rule->whole;
}

/* For each level but the first: whoever is below this score may be tested at it. How many levels there are. */
static int OF(level_cuts)(const Rule *rule, double scale, int64_t *cuts)
{
    int m = 0;
    double t = rule->threshold;
    for (int level = 1; level <= (int)rule->most; level++)
        if (rule->rounded[level] == level) {
            double decay = (level + rule->slack) * (LN2 / (1 - rule->slack));
            double height = t + rule->tail - decay - rule->slack * (3 + 2 * fabs(t) + fabs(rule->tail) + decay);
            cuts[m++] = OF(score_at)(floor(height * scale) + 1, rule);
        }
    return m;
}

/* The position of a score; the centre is one of the same type. */
static inline double OF(short_height)(T score, const Rule *rule)
{
    return clamped((double)((int32_t)score - (int32_t)rule->whole) * rule->factor);
}

/* How many of n scores stand at each height, as by bin_of. */
static inline __attribute__((always_inline)) void OF(count_halves)(const T *x, int64_t n, const Rule *rule, int64_t *held)
{
    int32_t bins[QUICK], reach = whole_reach(rule);
    for (int64_t start = 0; start < n; start += QUICK) {
        int some = n - start < QUICK ? (int)(n - start) : QUICK;
        for (int i = 0; i < some; i++) {
            int32_t far = (int32_t)x[start + i] - (int32_t)rule->whole, near = far > reach ? reach : far < -reach ? -reach : far;
            double twice = 2 * ((double)near * rule->factor);
            int32_t below = (int32_t)twice, bin = below - (twice < (double)below) + 101;
            bins[i] = far < -reach ? 0 : far > reach ? BINS : bin;
        }
        for (int i = 0; i < some; i++)
            held[bins[i]]++;
    }
}

/* The threshold by the maxima of blocks and a sample of the scores, as in _scan_of_type.h, or `surely` if that is higher. */
static inline __attribute__((always_inline)) double OF(first_threshold)(
    const T *tops, int64_t blocks, const char *x, int64_t step, const Sample *sample, const Rule *rule, double wanted,
    double surely)
{
    int64_t by_tops[BINS + 1] = {0}, by_sample[BINS + 1] = {0};
    T scores[QUICK];
    for (int64_t i = 0; i < sample->n; i++)
        __builtin_prefetch(x + sample->places[i] * step);
    OF(count_halves)(tops, blocks, rule, by_tops);
    for (int64_t start = 0; start < sample->n; start += QUICK) {
        int some = sample->n - start < QUICK ? (int)(sample->n - start) : QUICK;
        for (int i = 0; i < some; i++)
            scores[i] = AT(sample->places[start + i]);
        OF(count_halves)(scores, some, rule, by_sample);
    }
    int place = crowded_place(by_tops + 1, by_sample + 1, sample, wanted);
    double highest = (place - 100) / 2.0;
    return place >= 0 && highest > surely ? highest : surely;
}

/* The columns at or above a score, in order, and their maxima: how many. */
static inline __attribute__((always_inline)) int64_t OF(list_columns)(
    const T *columns, const T *tops, int64_t blocks, int64_t cut, int32_t *list, T *maxima)
{
    int64_t count = 0;
    for (int64_t b = 0; b < blocks; b++)
        if (tops[b] >= cut)
            for (int c = 0; c < WIDE; c++) {
                list[count] = (int32_t)(b * WIDE + c);
                count += columns[b * WIDE + c] >= (T)cut;
            }
    for (int64_t i = 0; i < count; i++)
        maxima[i] = columns[list[i]];
    return count;
}

/* The threshold that enough columns will pass by their largest scores alone: those at or above `from`, which are here, by what
 * they are, and those in some half units below it by the least that they can be. */
static inline __attribute__((always_inline)) double OF(raised)(
    const T *maxima, int64_t listed, int64_t from, const T *columns, int64_t n, const Rule *rule, double scale,
    const int64_t *chance, double wanted)
{
    int32_t held[2 * FINE + 1] = {0}, places[QUICK], centre = (int32_t)rule->whole;
    int32_t most = whole_reach(rule), factor = fine_factor(rule);
    int64_t cuts[BANDS], reach[BANDS], half = (int64_t)ceil(scale < 0x1p17 ? scale / 2 : 0x1p16);
    for (int j = 0; j < BANDS; j++)
        cuts[j] = from - (j + 1) * half > SMALLEST ? from - (j + 1) * half : SMALLEST;
    OF(at_least)(columns, n, cuts, BANDS, reach);
    for (int j = 0; j < BANDS; j++)
        held[fine_place((int32_t)cuts[j] - centre, most, factor)] += (int32_t)(reach[j] - (j ? reach[j - 1] : listed));
    for (int64_t start = 0; start < listed; start += QUICK) {
        int some = listed - start < QUICK ? (int)(listed - start) : QUICK;
        for (int i = 0; i < some; i++)
            places[i] = fine_place((int32_t)maxima[start + i] - centre, most, factor);
        for (int i = 0; i < some; i++)
            held[places[i]]++;
    }
    return fine_threshold(rule->threshold, held, chance, wanted);
}

/* From which score on columns are listed, were the threshold as high as a sample of the blocks says. */
static inline __attribute__((always_inline)) int64_t OF(listed_from)(
    const T *columns, int64_t blocks, const Rule *rule, double scale, const int64_t *chance, double wanted, T *some)
{
    int64_t cuts[KINDS], reach[KINDS], n = 0;
    Rule higher = *rule;
    double cost;
    for (int64_t b = 0; b < blocks; b += SPARSE, n += WIDE)
        __builtin_memcpy(some + n, columns + b * WIDE, WIDE * sizeof(T));
    for (int j = 0; j < BELOW + ABOVE; j++)
        cuts[j] = OF(score_at)(ceil((rule->threshold + (j - BELOW) / 2.0) * scale), rule);
    OF(at_least)(some, n, cuts, BELOW + ABOVE, reach);
    higher.threshold += raise_by(reach, chance, wanted) / 2.0;
    int m = OF(level_cuts)(&higher, scale, cuts);
    OF(at_least)(some, n, cuts, m, reach);
    return cuts[cheapest(reach, m, (double)(n * TALL), TALL, 1, rule, &cost) - 1];
}

/* Listed columns by how many of the cuts are above them, those with all behind the others; reach[j] are at or above cut j. */
static inline __attribute__((always_inline)) void OF(put_in_order)(
    const int32_t *list, const T *maxima, int64_t count, const int64_t *cuts, int m, const int64_t *reach, int32_t *opened)
{
    int64_t next[KINDS];
    T above[QUICK];
    for (int j = 0; j <= m; j++)
        next[j] = j ? reach[j - 1] : 0;
    for (int64_t start = 0; start < count; start += QUICK) {
        int some = count - start < QUICK ? (int)(count - start) : QUICK;
        for (int i = 0; i < some; i++)
            above[i] = (T)m;
        for (int j = 0; j < m; j++)
            if (cuts[j] <= LARGEST)
                for (int i = 0; i < some; i++)
                    above[i] -= maxima[start + i] >= (T)cuts[j];
        for (int i = 0; i < some; i++)
            opened[next[(int)above[i]]++] = list[start + i];
    }
}

/* Which columns are opened: how many, or -1 if the best crowd into few blocks, so that another centre is wanted.
 *
 * The threshold is chosen, unless nothing is `wanted`, and raised where hits would cost more than is `paid` without a second look. They are put into
 * `opened` by how many cuts are above them, of which the last is that of the level which all others share; counts[j] is how many
 * have j, and counts[KINDS] how many cuts there are, then the last of them. `list` and `maxima` are room for all columns. */
EXPORT FAST int64_t OF(open_columns)(
    const char *x, int64_t step, const T *columns, const T *tops, int64_t blocks, Rule *rule, double scale, int64_t crowd,
    const Sample *sample, double wanted, double surely, double paid, int32_t *list, T *maxima, int32_t *opened, int64_t *counts)
{
    int64_t cuts[KINDS], reach[KINDS], n = blocks * WIDE, high = 0, from;
    int64_t unit = OF(score_at)(ceil(scale), rule);
    double cost;
    for (int64_t b = 0; b < blocks; b++)
        if (tops[b] >= unit)
            for (int c = 0; c < WIDE; c++)
                high += columns[b * WIDE + c] >= unit;
    if (high >= crowd)
        return -1;
    if (wanted > 0)
        rule->threshold = OF(first_threshold)(tops, blocks, x, step, sample, rule, wanted, surely);
    int m = OF(level_cuts)(rule, scale, cuts);
    OF(at_least)(tops, blocks, cuts, m, reach);
    int lower = cheapest(reach, m, (double)(n * TALL), TALL * WIDE, WIDE, rule, &cost);
    int64_t count;
    if (wanted > 0 && cost >= paid) {
        from = OF(listed_from)(columns, blocks, rule, scale, sample->fine, wanted, maxima);
        count = OF(list_columns)(columns, tops, blocks, from, list, maxima);
        rule->threshold = OF(raised)(maxima, count, from, columns, n, rule, scale, sample->fine, wanted);
        m = OF(level_cuts)(rule, scale, cuts);
        while (m > 1 && cuts[m - 1] < from)
            m--;
        if (cuts[0] < from)
            count = OF(list_columns)(columns, tops, blocks, cuts[0], list, maxima);
        OF(at_least)(maxima, count, cuts, m, reach);
        lower = cheapest(reach, m, (double)(n * TALL), TALL, 1, rule, &cost);
    } else {
        count = OF(list_columns)(columns, tops, blocks, cuts[lower - 1], list, maxima);
        OF(at_least)(maxima, count, cuts, lower, reach);
    }
    for (int j = 0; j < KINDS; j++)
        counts[j] = j < lower ? reach[j] - (j ? reach[j - 1] : 0) : 0;
    counts[KINDS] = lower;
    counts[KINDS + 1] = cuts[lower - 1];
    OF(put_in_order)(list, maxima, count, cuts, lower, reach, opened);
    return reach[lower - 1];
}

/* The next candidates of a batch of that kind that are hit, by at most QUICK words; -1 if floats or words do not suffice. */
static inline __attribute__((always_inline)) int64_t OF(next_hits)(
    int kind, Trials *trials, const T *columns, int64_t cut, const int32_t *opened, int64_t rest, const char *x, int64_t step,
    int64_t *at)
{
    const Skips skips = trials->skips;
    int64_t count = 0, next = trials->next, i = 0, some = !skips.level || trials->words > QUICK ? QUICK : trials->words;
    double logs[QUICK];
    if (some == 0)
        return -1;
    if (skips.level)
        quick_logs(trials->word, some, logs);
    for (; i < some && next < trials->count; i++, next++) {
        int64_t failures = skips.level ? failures_of(trials->word[i], logs[i], &skips) : 0, place;
        if (failures < 0)
            return -1;
        next += failures;
        if (next >= trials->count)
            continue;
        if (kind == OPENED)
            place = column_start(opened[next / TALL], WIDE) + next % TALL * WIDE;
        else
            place = kind == REST ? rest + next : next;
        __builtin_prefetch(x + place * step);
        at[count] = place;
        count += kind != SHARED || columns[column_of(place, WIDE)] < cut;
    }
    trials->next = next;
    if (skips.level) {
        trials->word += i;
        trials->words -= i;
    }
    return count;
}

/* Takes these hits, one after another, into the race: whether their words are plain, and there is room for whoever enters. */
static inline __attribute__((always_inline)) int OF(take_hits)(
    const char *x, int64_t step, const int64_t *at, const uint64_t *words, int64_t n, int64_t level, int noise,
    const Rule *rule, Best *best, Hit *kept, int64_t *entered)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = words[i];
        if (word < PLAIN) /* nothing bounds the noise of 0 */
            return 0;
        double height = OF(short_height)(AT(at[i]), rule);
        if (height + most_noise(word, level, noise) < best->least)
            continue;
        if (word >= -PLAIN || *entered == KEPT)
            return 0;
        kept[*entered] = (Hit){at[i], level, word};
        *entered += enters(best, height + noise_of(word, level, noise), *entered);
    }
    return 1;
}

/* Who wins by columns: the k highest finishes of the hits, best first, and all above the threshold; zero if not clear.
 *
 * A batch has a level, so many trials and so many of the words, and a start. The first is of all candidates in blocks, of whom
 * nobody is hit in a column at or above the cut; then come those of opened columns, from that start on in `opened`; one with
 * no start is of the candidates from `rest` on. Hits take `fresh` words, one each. `kept` is room for KEPT of them: the
 * first k are the winners. */
EXPORT FAST int OF(column_winners)(
    const char *x, int64_t step, const int64_t *batch, int64_t batches, const T *columns, int64_t cut, const int32_t *opened,
    int64_t rest, const uint64_t *words, const uint64_t *fresh, int64_t k, int noise, const Rule *rule, Hit *kept)
{
    Best best = best_above(rule->threshold, k);
    Hit won[MOST];
    int64_t at[QUICK], entered = 0;
    for (int64_t b = 0; b < batches; words += batch[2], b++, batch += 4) {
        Trials trials = {skips_of(batch[0], batch[1]), 0, batch[1], words, batch[2]};
        while (trials.next < trials.count) {
            int64_t n, start = batch[3];
            if (b == 0)
                n = OF(next_hits)(SHARED, &trials, columns, cut, opened, rest, x, step, at);
            else if (start < 0)
                n = OF(next_hits)(REST, &trials, columns, cut, opened, rest, x, step, at);
            else
                n = OF(next_hits)(OPENED, &trials, columns, cut, opened + start, rest, x, step, at);
            if (n < 0 || !OF(take_hits)(x, step, at, fresh, n, batch[0], noise, rule, &best, kept, &entered))
                return 0;
            fresh += n;
        }
    }
    if (!are_clear(&best))
        return 0;
    for (int64_t i = 0; i < k; i++)
        won[i] = kept[best.place[i]];
    for (int64_t i = 0; i < k; i++)
        kept[i] = won[i];
    return 1;
}

#undef WIDE
#undef LARGEST
#undef SMALLEST
