/* A library that gamma.c's replaces: both have the same code at the same offsets. */
static long alpha_spin(long rounds) {
    unsigned long value = (unsigned long)rounds;
    for (long round = 0; round < rounds; round++)
        value = value * 6364136223846793005UL + 1442695040888963407UL;
    return (long)value;
}

long (*const entry)(long) = alpha_spin;
