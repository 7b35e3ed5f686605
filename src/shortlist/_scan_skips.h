/* Skips from one hit to the next, and where columns stand: for _scan.c. */

/* Independent trials at one level. */
typedef struct {
    int64_t level;
    double trials, rate, wide, doubt; /* 1 / ln(1 - 2^-level); the errors of a skip by a whole and by a quick logarithm */
} Skips;

static inline Skips skips_of(int64_t level, int64_t trials)
{
    double chance = ldexp(1, (int)-level);
    return (Skips){level, (double)trials, level ? 1 / log1p(-chance) : 0, 2 / chance, 0x1p-31 / chance};
}

/* How many fail before the next success, by a word whose quick logarithm is known; as many as there are trials where it is
 * beyond all of them, and -1 where floats do not tell.
 *
 * A quick logarithm tells it where its error (2^-32 of 2^level) and that of NumPy's own way (2^-36 of it) leave no doubt. */
static inline int64_t failures_of(uint64_t word, double quick, const Skips *skips)
{
    double ratio = quick * skips->rate;
    if (quick > QUICKLY && skips->doubt < 0.5) {
        int64_t least = (int64_t)(ratio - skips->doubt + 1), most = (int64_t)(ratio + skips->doubt + 1);
        if (least == most)
            return least - 1;
    }
    double v = word ? (double)word : 0.5;
    ratio = (log(v) - 64 * LN2) * skips->rate;
    double error = ratio * 0x1p-40 + (2 / v + 0x1p-40) * skips->wide;
    if (ratio - error >= skips->trials)
        return (int64_t)skips->trials;
    int64_t least = (int64_t)(ratio - error + 1), most = (int64_t)(ratio + error + 1);
    return least == most ? least - 1 : -1;
}

/* Trials that go on: the next of so many, and the words that are left. */
typedef struct {
    Skips skips;
    int64_t next, count;
    const uint64_t *word;
    int64_t words;
} Trials;

/* A candidate that is hit. */
typedef struct {
    int64_t index, level;
    uint64_t word;
} Hit;

/* The column of a candidate, of blocks of so many side by side: a power of two. */
static inline int64_t column_of(int64_t place, int64_t wide)
{
    return place / TALL / wide * wide + (place & (wide - 1));
}

/* Where it starts. */
static inline int64_t column_start(int64_t column, int64_t wide)
{
    return (column - (column & (wide - 1))) * TALL + (column & (wide - 1));
}
