/* What follows from counts and finishes, whatever the scores are stored as: thresholds, shared levels, winners. */

/* At which place of the grid of thresholds enough candidates pass, the highest one; -1 if nowhere.
 *
 * `tops` are how many surely stand at each height, `some` those of a sample, each of which is worth several candidates.
 * Chances are whole numbers of 2^-30, so that no sum is rounded: skip_threshold.py has the same in NumPy. */
static int crowded_place(const int64_t *tops, const int64_t *some, const Sample *sample, double enough)
{
    int at[BINS], bins = 0;
    for (int j = 0; j < BINS; j++)
        if (tops[j] || some[j])
            at[bins++] = j;
    for (int place = PLACES - 1; place >= 0; place--) {
        int64_t by_tops = 0, by_some = 0, squares = 0;
        for (int i = 0; i < bins; i++) {
            int64_t distance = place + BINS - 1 - at[i];
            by_tops += tops[at[i]] * sample->chance[distance];
            by_some += some[at[i]] * sample->chance[distance];
            squares += some[at[i]] * sample->square[distance];
        }
        double total = (double)by_some;
        if ((double)by_tops >= enough || (total * total >= BROAD * (double)squares && sample->each * total >= enough))
            return place;
    }
    return -1;
}

/* The k largest of n finishes, in no order; zero where these are not clear, or not all above the floor. Behind the last
 * of them -inf fills up a multiple of EIGHT. */
static inline __attribute__((always_inline)) int best_of(
    const double *z, int64_t n, int64_t k, double floor, const int64_t *index, int64_t *won)
{
    double last = INFINITY, next = -INFINITY;
    int64_t above[SEVERAL], count = 0;
    for (int64_t i = 0; i < n; i += EIGHT) {
        int64_t more[EIGHT] = {0};
        for (int64_t j = 0; j < n; j++)
            for (int each = 0; each < EIGHT; each++)
                more[each] += z[j] > z[i + each];
        for (int each = 0; each < EIGHT; each++)
            above[i + each] = more[each];
    }
    for (int64_t i = 0; i < n; i++) {
        int wins = above[i] < k;
        double one = wins ? z[i] : INFINITY, other = wins ? -INFINITY : z[i];
        if (wins && count == k)
            return 0; /* two are equal */
        won[wins ? count : k - 1] = wins ? index[i] : won[k - 1];
        count += wins;
        last = one < last ? one : last;
        next = other > next ? other : next;
    }
    return count == k && last - floor > 4 * ROUGH + 0x1p-47 * fabs(last) &&
           (next == -INFINITY || last - next > 4 * ROUGH + 0x1p-47 * (fabs(last) + fabs(next)));
}

/* Which level all share that are not opened, and what that costs, about, if so many groups are at or above each cut: a
 * group has that size, and opens into so many columns. */
static int cheapest(
    const int64_t *reach, int m, double trials, double size, double parts, const Rule *rule, double *least)
{
    int best = 0, lower = 0, level = 0;
    double opened = 0, cost;
    int64_t before = 0;
    *least = INFINITY;
    for (int place = 0; place < m; place++, lower = level) {
        do
            level++;
        while (rule->rounded[level] != level);
        opened += (double)(reach[place] - before) * (parts + size * HIT * ldexp(1, -lower));
        before = reach[place];
        cost = opened + HIT * trials * ldexp(1, -level);
        if (cost < *least) {
            best = place + 1;
            *least = cost;
        }
    }
    return best;
}

/* By how many half units a threshold may rise, so that enough still pass: so many are at or above each height around it, in
 * a sample of one in SPARSE. */
static int raise_by(const int64_t *reach, const int64_t *chance, double wanted)
{
    for (int more = HIGHER; more > 0; more--) {
        int64_t passed = 0;
        for (int j = 0; j < BELOW + ABOVE; j++) {
            int64_t here = reach[j] - (j + 1 < BELOW + ABOVE ? reach[j + 1] : 0);
            passed += here * chance[2 * FINE + 8 * (more + BELOW - j)];
        }
        if (SPARSE * (double)passed >= wanted)
            return more;
    }
    return 0;
}

/* The highest threshold in sixteenths, at most HIGHER half units above this one, that enough will pass of so many at each
 * height in sixteenths; if there is none, the threshold as it is. */
static double fine_threshold(double threshold, const int32_t *held, const int64_t *chance, double wanted)
{
    int start = (int)floor(16 * threshold), first = 0, last = 2 * FINE;
    while (first < last && !held[first])
        first++;
    while (last > first && !held[last])
        last--;
    for (int place = start + 8 * HIGHER; place > start; place--) {
        int64_t passed = 0;
        for (int j = first; j <= last; j++)
            passed += held[j] * chance[3 * FINE + place - j];
        if ((double)passed >= wanted)
            return place / 16.0;
    }
    return threshold;
}

/* The highest finishes so far, one more than are wanted, falling; and where they stand. */
typedef struct {
    double finish[MOST + 1];
    int64_t place[MOST + 1], count, k;
    double floor, least; /* who is below the last does not matter any more */
} Best;

static inline Best best_above(double floor, int64_t k)
{
    Best best;
    best.count = 0;
    best.k = k;
    best.floor = floor;
    best.least = floor - 1e-3 * (1 + fabs(floor));
    return best;
}

/* Whether somebody who finishes there is among them, and if so, takes him in. */
static inline int enters(Best *best, double z, int64_t place)
{
    int64_t k = best->k;
    if (z < best->least || (best->count > k && !(z > best->finish[k])))
        return 0;
    int64_t at = best->count > k ? k : best->count++;
    for (; at > 0 && z > best->finish[at - 1]; at--) {
        best->finish[at] = best->finish[at - 1];
        best->place[at] = best->place[at - 1];
    }
    best->finish[at] = z;
    best->place[at] = place;
    if (best->count > k && best->finish[k] > best->least)
        best->least = best->finish[k];
    return 1;
}

/* Whether it is clear who the k highest are, in which order, and that all of them are above the floor. */
static inline int are_clear(const Best *best)
{
    const double *finish = best->finish;
    int64_t k = best->k;
    if (best->count < k || !(finish[k - 1] - best->floor > 4 * ROUGH + 0x1p-47 * fabs(finish[k - 1])))
        return 0;
    for (int64_t i = 0; i + 1 < best->count; i++) {
        double one = finish[i], other = finish[i + 1];
        if (!(one - other > 4 * ROUGH + 0x1p-47 * (fabs(one) + fabs(other))))
            return 0;
    }
    return 1;
}
