// Pattern: one warp reads the same 32 addresses over and over, 4 x WORDS bytes a lane, out of shared or of global memory (L1).
// Counting its wavefronts shows what an address pattern costs; the access model is checked against that. `step` is 0 at run time,
// which the compiler cannot know: it keeps it from reading once for all.

#if WORDS == 1
#define READ(space) asm volatile("ld." space ".u32 %0, [%1];" : "=r"(v[0]) : ADDRESS)
#elif WORDS == 2
#define READ(space) asm volatile("ld." space ".v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : ADDRESS)
#else
#define READ(space)                                                                                                  \
    asm volatile("ld." space ".v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : ADDRESS)
#endif

#if WORDS == 1
#define SUM v[0]
#elif WORDS == 2
#define SUM v[0] + v[1]
#else
#define SUM v[0] + v[1] + v[2] + v[3]
#endif
#define READS 64

extern "C" __global__ void __launch_bounds__(32) pattern_shared(const unsigned* offsets, unsigned* out, int rounds,
                                                                unsigned step) {
    __shared__ __align__(16) unsigned memory[8192];
    unsigned at = (unsigned)__cvta_generic_to_shared(memory) + offsets[threadIdx.x];
    unsigned v[4], sum = 0;
#define ADDRESS "r"(at)
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < READS; ++i) {
            READ("shared");
            sum += SUM;
            at += step;
        }
    }
#undef ADDRESS
    out[threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(32) pattern_global(const unsigned* offsets, const char* memory, unsigned* out,
                                                                int rounds, unsigned step) {
    const char* at = memory + offsets[threadIdx.x];
    unsigned v[4], sum = 0;
#define ADDRESS "l"(at)
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < READS; ++i) {
            READ("global.ca");
            sum += SUM;
            at += step;
        }
    }
#undef ADDRESS
    out[threadIdx.x] = sum;
}
