/* What follows from counts and finishes, whatever the scores are stored as: thresholds, shared levels, winners. */

/* At which place of the grid of thresholds enough candidates pass, the highest one; -1 if nowhere.
 *
 * `tops` are how many surely stand at each height, `some` those of a sample, each of which is worth `each` candidates.
 * Chances are whole numbers of 2^-30, so that no sum is rounded: skip_threshold.py has the same in NumPy. */
static int crowded_place(
    const int64_t *tops, const int64_t *some, const int64_t *chance, const int64_t *square, double each, double enough)
{
    int at[BINS], bins = 0;
    for (int j = 0; j < BINS; j++)
        if (tops[j] || some[j])
            at[bins++] = j;
    for (int place = PLACES - 1; place >= 0; place--) {
        int64_t by_tops = 0, by_some = 0, squares = 0;
        for (int i = 0; i < bins; i++) {
            int64_t distance = place + BINS - 1 - at[i];
            by_tops += tops[at[i]] * chance[distance];
            by_some += some[at[i]] * chance[distance];
            squares += some[at[i]] * square[distance];
        }
        double total = (double)by_some;
        if ((double)by_tops >= enough || (total * total >= BROAD * (double)squares && each * total >= enough))
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

/* By how many half units a threshold may rise, so that enough still pass: so many are at or above each height around it. */
static int raise_by(const int64_t *reach, const int64_t *chance, double wanted)
{
    for (int more = HIGHER; more > 0; more--) {
        int64_t passed = 0;
        for (int j = 0; j < BELOW + ABOVE; j++) {
            int64_t here = reach[j] - (j + 1 < BELOW + ABOVE ? reach[j + 1] : 0);
            passed += here * chance[BINS - 1 + more + BELOW - j];
        }
        if ((double)passed >= wanted)
            return more;
    }
    return 0;
}
