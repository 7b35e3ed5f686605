/* Noise and logarithms of random words, for _scan.c: what is compared by them is compared with their errors. */

typedef union {
    uint64_t bits;
    double real;
} Bits;

static const double QUICKLY = -11; /* a quick logarithm is good above this, that is where U is at least 2^-15.8 */

/* ln U of words, U in [0, 1): to 2^-32 where it is above QUICKLY, and else below it.
 *
 * U = 2^e m with m near 1, and ln m = 2 artanh s, s = (m - 1) / (m + 1), |s| < 0.172, whose series ends after s^11;
 * what comes after it, and the bits of a word that are left out, are below 2^-34. Exponents are moved as bits, which a
 * compiler turns into vector code. */
static FAST void quick_logs(const uint64_t *words, int64_t n, double *logs)
{
    const uint64_t one = (uint64_t)1023 << 52, half = 0x3fe6a09e667f3bcd; /* 1 and the square root of 1/2 */
    for (int64_t i = 0; i < n; i++) {
        Bits u = {.bits = words[i] >> 12 | one}, m, e;
        u.real -= 1;
        uint64_t power = (u.bits + (one - half)) >> 52; /* e + 1023 */
        m.bits = u.bits - (power << 52) + one;
        e.bits = power | (uint64_t)1075 << 52; /* 2^52 + power */
        double s = (m.real - 1) / (m.real + 1), z = s * s;
        double series = 1 + z * (1. / 3 + z * (1. / 5 + z * (1. / 7 + z * (1. / 9 + z * (1. / 11)))));
        logs[i] = (e.real - (0x1p52 + 1023)) * LN2 + 2 * s * series;
    }
}

/* ln(1 - U) of a uniform that starts with so many zeros, and then this word: to 2^-40 of itself. From 2^-6 on 1 - U may be
 * rounded first, which costs less than 2^-53 of at least 2^-6, and log takes half the time of log1p. */
static inline double log_complement(uint64_t word, int64_t level)
{
    if (level == 0 && word >> 63)
        return log((double)~word) - 64 * LN2;
    Bits scale = {.bits = (uint64_t)(1023 - 64 - level) << 52};
    double u = (double)word * scale.real;
    return u >= 0x1p-6 ? log(1 - u) : log1p(-u);
}

/* The noise of such a uniform, good to ROUGH where the word is plain. */
static inline double noise_of(uint64_t word, int64_t level, int kind)
{
    double log_u = log((double)word) - (double)(64 + level) * LN2;
    switch (kind) {
    case EXPONENTIAL:
        return -log_u;
    case GUMBEL:
        return -log(-log_complement(word, level));
    case LAPLACE:
        return level == 0 && word >> 63 ? log_complement(word, level) + LN2 : -log_u - LN2;
    case LOGISTIC:
        return log_complement(word, level) - log_u;
    default:
        return log(2 - ldexp((double)word, (int)(-64 - level))) - log_u;
    }
}

/* The same, where the quick logarithm of the word is known: that suffices for exponential noise, and for Gumbel noise
 * where U is below 2^-6, by -ln(-ln(1 - U)) = -ln U - U/2 - 5 U^2/24 - U^3/8 - 251 U^4/2880 - .., whose rest is below 2^-33. */
static inline double quick_noise(uint64_t word, int64_t level, int kind, double quick)
{
    double decay = (double)level * LN2 - quick;
    if (quick > QUICKLY && kind == EXPONENTIAL)
        return decay;
    if (quick > QUICKLY && kind == GUMBEL && decay > 4.1589) {
        Bits scale = {.bits = (uint64_t)(1023 - 64 - level) << 52};
        double u = (double)word * scale.real;
        return decay - u * (1. / 2 + u * (5. / 24 + u * (1. / 8 + u * (251. / 2880))));
    }
    return noise_of(word, level, kind);
}

/* ln x of a positive float: as above, but for a series that ends after s^15, to 2^-44 and 2^-50 of itself. */
static inline double sharp_log(double x)
{
    const uint64_t one = (uint64_t)1023 << 52, half = 0x3fe6a09e667f3bcd;
    Bits u = {.real = x}, m, e;
    uint64_t power = (u.bits + (one - half)) >> 52;
    m.bits = u.bits - (power << 52) + one;
    e.bits = power | (uint64_t)1075 << 52;
    double s = (m.real - 1) / (m.real + 1), z = s * s;
    double z2 = z * z, end = 1. / 9 + z * (1. / 11) + z2 * (1. / 13 + z * (1. / 15)); /* in pairs, so that none waits */
    double series = 1 + z * (1. / 3) + z2 * (1. / 5 + z * (1. / 7) + z2 * end);
    return (e.real - (0x1p52 + 1023)) * LN2 + 2 * s * series;
}

/* Gumbel noise of words whose quick logarithms are known: by the series above, or where U is larger by -ln(-ln(1 - U)), to
 * 2^-36. Only where these logarithms are good and U is at most 1 - 2^-15; else anything. */
static FAST void gumbels(
    const uint64_t *words, const int64_t *level, int64_t n, const double *restrict quick, double *restrict noise)
{
    const uint64_t one = (uint64_t)1023 << 52;
    for (int64_t i = 0; i < n; i++) {
        Bits first = {.bits = words[i] >> 12 | one}, scale = {.bits = one - ((uint64_t)level[i] << 52)};
        Bits zeros = {.bits = (uint64_t)level[i] | (uint64_t)1075 << 52}; /* 2^52 + level */
        double u = (first.real - 1) * scale.real, decay = (zeros.real - 0x1p52) * LN2 - quick[i];
        Bits series = {.real = decay - u * (1. / 2 + u * (5. / 24 + u * (1. / 8 + u * (251. / 2880))))};
        Bits sharp = {.real = -sharp_log(-sharp_log(1 - u))};
        uint64_t by_series = -(uint64_t)(decay > 4.1589); /* chosen by bits: a branch would wait */
        sharp.bits = (series.bits & by_series) | (sharp.bits & ~by_series);
        noise[i] = sharp.real;
    }
}

/* Whether that is noise. */
static inline int is_gumbel(uint64_t word, int64_t level, double quick)
{
    return quick > QUICKLY && (level || ~word >> 49);
}

/* What that is below: U >= 2^-(zeros + 1), and -ln U tells of each kind. */
static inline double most_noise(uint64_t word, int64_t level, int kind)
{
    static const int more[] = {1, 1, 0, 1, 2};
    return (double)(more[kind] + level + __builtin_clzll(word)) * LN2 + 1e-6;
}
