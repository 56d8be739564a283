// Clock bracket: one block an SM writes its SM's number, cycle counter and the global timer. Two launches around a sample give the
// clock that each SM really ran at: cycles gone over nanoseconds gone.

extern "C" __global__ void read_clocks(unsigned* sm, unsigned long long* cycles, unsigned long long* nanoseconds) {
    unsigned id;
    unsigned long long c, ns;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(c));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    sm[blockIdx.x] = id;
    cycles[blockIdx.x] = c;
    nanoseconds[blockIdx.x] = ns;
}
