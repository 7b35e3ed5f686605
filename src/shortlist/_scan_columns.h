/* For integers of 8 or 16 bits: the largest scores of columns, and which of these are high. skip_columns.py has the same
 * in NumPy, and says what it is for.
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

/* The same of all blocks: PARTS of them are read side by side, unless scores are strided. */
EXPORT FAST void OF(block_columns)(const char *x, int64_t step, int64_t blocks, T *columns, T *tops)
{
    int64_t apart = step == sizeof(T) ? blocks / PARTS : 0, done = apart * PARTS;
    for (int64_t b = 0; b < apart; b++)
        OF(columns_of)((const T *)x + b * TALL * WIDE, apart, PARTS, columns + b * WIDE, tops + b);
    for (int64_t b = done; b < blocks; b++) {
        T block[TALL * WIDE];
        for (int64_t i = 0; i < TALL * WIDE; i++)
            block[i] = AT(b * TALL * WIDE + i);
        OF(columns_of)(block, 0, 1, columns + b * WIDE, tops + b);
    }
}

/* A score so far from the centre, in whole numbers: at most one more than the largest of the type. */
static inline int64_t OF(score_at)(double beyond, const Rule *rule)
{
    double low = (double)(SMALLEST - rule->whole), high = (double)(LARGEST + 1 - rule->whole);
    beyond = beyond < low ? low : beyond;
    return (int64_t)(beyond > high ? high : beyond) + rule->whole;
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

/* Which columns are opened: how many, or -1 if the best crowd into few blocks, so that another centre is wanted.
 *
 * `threshold` may be raised, unless nothing is `wanted`; `above` is how many cuts are above each column, of which the
 * last is that of the level which all others share. They are put into `list`; counts[j] is how many have j, and
 * counts[KINDS] how many cuts there are, then the last of them. */
EXPORT FAST int64_t OF(open_columns)(
    const T *columns, const T *tops, int64_t blocks, Rule *rule, double scale, int64_t crowd, const int64_t *chance,
    double wanted, int8_t *above, int32_t *list, int64_t *counts)
{
    int64_t cuts[KINDS], reach[KINDS], n = blocks * WIDE, high, count = 0, unit = OF(score_at)(ceil(scale), rule);
    double cost;
    OF(at_least)(columns, n, &unit, 1, &high);
    if (high >= crowd)
        return -1;
    int m = OF(level_cuts)(rule, scale, cuts);
    OF(at_least)(tops, blocks, cuts, m, reach);
    int lower = cheapest(reach, m, (double)(n * TALL), TALL * WIDE, WIDE, rule, &cost);
    if (wanted > 0 && cost >= HIT * PAID) {
        for (int j = 0; j < BELOW + ABOVE; j++)
            cuts[j] = OF(score_at)(ceil((rule->threshold + (j - BELOW) / 2.0) * scale), rule);
        OF(at_least)(columns, n, cuts, BELOW + ABOVE, reach);
        rule->threshold += raise_by(reach, chance, wanted) / 2.0;
        m = OF(level_cuts)(rule, scale, cuts);
        OF(at_least)(columns, n, cuts, m, reach);
        lower = cheapest(reach, m, (double)(n * TALL), TALL, 1, rule, &cost);
    }
    int first = 0; /* no score reaches the cuts before it */
    while (first < lower && cuts[first] > LARGEST)
        first++;
    for (int64_t i = 0; i < n; i++)
        above[i] = (int8_t)lower;
    for (int64_t b = 0; b < blocks; b++)
        if (tops[b] >= cuts[lower - 1]) {
            OF(lanes) here = *(const OF(loaded) *)(columns + b * WIDE), sum = here - here + (T)lower;
            T each[WIDE];
            for (int j = first; j < lower; j++)
                sum += (OF(lanes))(here >= (T)cuts[j]); /* all bits are set where that holds: -1 */
            __builtin_memcpy(each, &sum, sizeof each);
            for (int c = 0; c < WIDE; c++) {
                above[b * WIDE + c] = (int8_t)each[c];
                list[count] = (int32_t)(b * WIDE + c);
                count += each[c] < lower;
            }
        }
    for (int j = 0; j < KINDS; j++)
        counts[j] = 0;
    for (int64_t i = 0; i < count; i++)
        counts[above[list[i]]]++;
    counts[KINDS] = lower;
    counts[KINDS + 1] = cuts[lower - 1];
    return count;
}

#undef WIDE
#undef LARGEST
#undef SMALLEST
