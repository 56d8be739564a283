// Latency probe: one thread follows a chain of addresses, each load waiting for the one before; cycles over hops is the wait.
// The memory holds addresses, not indices, so that nothing but the load lies between two hops. `warm` hops go before the timed
// ones; the chain's last address comes back as the proof that it was followed. The SM's cycle counter and the global timer are
// read around the chain: cycles, nanoseconds, and from both the clock that it ran at.

#define HOPS 16

typedef unsigned long long u64;

struct Now {
    long long cycles;
    u64 nanoseconds;
};

__device__ __forceinline__ Now now() {
    Now found;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(found.nanoseconds)::"memory");
    found.cycles = clock64();
    return found;
}

// Cycles and nanoseconds since `begin`.
__device__ __forceinline__ void write_since(Now begin, long long* cycles, u64* nanoseconds) {
    const Now end = now();
    *cycles = end.cycles - begin.cycles;
    *nanoseconds = end.nanoseconds - begin.nanoseconds;
}

// Through L1 (CACHE is `ca`) or past it (`cg`).
#define CHASE(CACHE)                                                                                                        \
    extern "C" __global__ void chase_##CACHE(u64 at, long long warm, long long hops, u64* last, long long* cycles,          \
                                             u64* nanoseconds) {                                                            \
        for (long long i = 0; i < warm; ++i) asm volatile("ld.global." #CACHE ".u64 %0, [%0];" : "+l"(at)::"memory");       \
        const Now begin = now();                                                                                            \
        for (long long i = 0; i < hops; i += HOPS) {                                                                        \
            _Pragma("unroll") for (int u = 0; u < HOPS; ++u)                                                                \
                asm volatile("ld.global." #CACHE ".u64 %0, [%0];" : "+l"(at)::"memory");                                    \
        }                                                                                                                   \
        write_since(begin, cycles, nanoseconds);                                                                            \
        *last = at;                                                                                                         \
    }

CHASE(ca)
CHASE(cg)

// Shared memory: a ring of 1024 words, each holding the address of the one 33 words on.
extern "C" __global__ void chase_shared(long long hops, unsigned* last, long long* cycles, u64* nanoseconds) {
    __shared__ unsigned ring[1024];
    const unsigned base = (unsigned)__cvta_generic_to_shared(ring);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) ring[i] = base + (i + 33) % 1024 * 4;
    __syncthreads();
    unsigned at = base;
    const Now begin = now();
    for (long long i = 0; i < hops; i += HOPS) {
#pragma unroll
        for (int u = 0; u < HOPS; ++u) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
    }
    write_since(begin, cycles, nanoseconds);
    *last = at - base;
}

// The same two chains of indices, as plain code has them: i = p[i]. Between two loads the address is computed from the index.
extern "C" __global__ void chase_shared_index(long long hops, unsigned* last, long long* cycles, u64* nanoseconds) {
    __shared__ volatile unsigned ring[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) ring[i] = (i + 33) % 1024;
    __syncthreads();
    unsigned at = 0;
    const Now begin = now();
    for (long long i = 0; i < hops; i += HOPS) {
#pragma unroll
        for (int u = 0; u < HOPS; ++u) at = ring[at];
    }
    write_since(begin, cycles, nanoseconds);
    *last = at;
}

extern "C" __global__ void chase_l1_index(const unsigned* p, long long warm, long long hops, unsigned* last, long long* cycles,
                                          u64* nanoseconds) {
    unsigned at = 0;
    for (long long left = warm; left > 0; --left)
        asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(p + at) : "memory");
    const Now begin = now();
    for (long long i = 0; i < hops; i += HOPS) {
#pragma unroll
        for (int u = 0; u < HOPS; ++u) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(at) : "l"(p + at) : "memory");
    }
    write_since(begin, cycles, nanoseconds);
    *last = at;
}

// Every hop by itself, past L1: which loads are answered near, far, or by DRAM. The store of what was loaded makes the next read of
// the counter wait for it; both stay in shared memory until the end. A hop holds the store and the two reads besides the load.
extern "C" __global__ void chase_each(u64 at, long long warm, int hops, u64* last, unsigned* cycles) {
    __shared__ volatile unsigned loaded[EACH], spent[EACH];
    for (long long left = warm; left > 0; --left) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
    for (int i = 0; i < hops; ++i) {
        const long long begin = clock64();
        asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
        loaded[i] = (unsigned)at;
        spent[i] = (unsigned)(clock64() - begin);
    }
    for (int i = 0; i < hops; ++i) cycles[i] = spent[i];
    *last = at;
}
