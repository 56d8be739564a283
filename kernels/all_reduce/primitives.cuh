// Primitives: the three instructions by which GPUs talk to each other.
// A release makes everything that came before it visible to whoever sees the stored value with an acquire; `sys` reaches the other
// GPUs and the host (PTX ISA, memory consistency model).

__device__ __forceinline__ unsigned load_acquire(const unsigned* p) {
    unsigned value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}

__device__ __forceinline__ void store_release(unsigned* p, unsigned value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}

__device__ __forceinline__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
}
