// Latency probe: one thread follows a chain of addresses, each load waiting for the one before; cycles over hops is the wait.
// The memory holds addresses, not indices, so that nothing but the load lies between two hops. `warm` hops go before the timed
// ones; the chain's last address comes back as the proof that it was followed.

#define HOPS 16

// Through L1 (CACHE is `ca`) or past it (`cg`).
#define CHASE(CACHE)                                                                                                        \
    extern "C" __global__ void chase_##CACHE(unsigned long long at, long long warm, long long hops, unsigned long long* last, \
                                             long long* cycles) {                                                           \
        for (long long i = 0; i < warm; ++i) asm volatile("ld.global." #CACHE ".u64 %0, [%0];" : "+l"(at)::"memory");       \
        const long long begin = clock64();                                                                                  \
        for (long long i = 0; i < hops; i += HOPS) {                                                                        \
            _Pragma("unroll") for (int u = 0; u < HOPS; ++u)                                                                \
                asm volatile("ld.global." #CACHE ".u64 %0, [%0];" : "+l"(at)::"memory");                                    \
        }                                                                                                                   \
        *cycles = clock64() - begin;                                                                                        \
        *last = at;                                                                                                         \
    }

CHASE(ca)
CHASE(cg)

// Shared memory: a ring of 1024 words, each holding the address of the one 33 words on.
extern "C" __global__ void chase_shared(long long hops, unsigned* last, long long* cycles) {
    __shared__ unsigned ring[1024];
    const unsigned base = (unsigned)__cvta_generic_to_shared(ring);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) ring[i] = base + (i + 33) % 1024 * 4;
    __syncthreads();
    unsigned at = base;
    const long long begin = clock64();
    for (long long i = 0; i < hops; i += HOPS) {
#pragma unroll
        for (int u = 0; u < HOPS; ++u) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    }
    *cycles = clock64() - begin;
    *last = at - base;
}
