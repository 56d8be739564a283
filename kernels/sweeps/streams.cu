// Streams: arrays far larger than L2 read, copied and combined (McCalpin's STREAM), at the rate of device memory.
// A lane takes 16 bytes at once, neighbours side by side. One vector a thread was fastest for the two that write: so many blocks begin
// and end that reads and writes mix evenly. Which lines L2 gives up decides the rest: where it would rather keep what is read, what is
// written goes out at once and in order, whatever an earlier kernel left there.
//
// stream_read: the sum of all words, which wraps without rounding, so that it proves to the bit that everything was read; one a
// thread; any grid of READ_THREADS. stream_copy: to = from, blocks of COPY_THREADS. stream_triad: out = b + scale * c, fp32, one
// rounding, blocks of TRIAD_THREADS. Both have a thread a vector. Bytes: 16, 2 x 16 and 3 x 16 x count.

typedef unsigned long long u64;

struct __align__(16) Words {
    unsigned x, y, z, w;
};

__device__ __forceinline__ Words load(const Words* p) {
    Words v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ Words load_kept(const Words* p) {
    Words v;
    u64 last;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "l"(last));
    return v;
}
__device__ __forceinline__ void store_once(Words* p, Words v) {
    u64 first;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(first));
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(first)
                 : "memory");
}
__device__ __forceinline__ void store_kept(Words* p, Words v) {
    u64 last;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(last));
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "l"(last)
                 : "memory");
}
#else  // L2 takes no orders before sm_80
__device__ __forceinline__ Words load_kept(const Words* p) { return load(p); }
__device__ __forceinline__ void store_once(Words* p, Words v) {
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
__device__ __forceinline__ void store_kept(Words* p, Words v) { store_once(p, v); }
#endif
__device__ __forceinline__ unsigned total(Words v) { return v.x + v.y + v.z + v.w; }
__device__ __forceinline__ unsigned triad(unsigned b, unsigned c, float scale) {
    return __float_as_uint(__fmaf_rn(scale, __uint_as_float(c), __uint_as_float(b)));
}

extern "C" __global__ void __launch_bounds__(READ_THREADS) stream_read(const Words* from, unsigned* sums, u64 count) {
    const u64 piece = READ_THREADS * UNROLL;
    unsigned sum = 0;
    for (u64 first = blockIdx.x * piece; first < count; first += gridDim.x * piece) {
        const u64 mine = first + threadIdx.x;
        if (first + piece <= count) {
            Words v[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) v[u] = load(from + mine + u * READ_THREADS);
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) sum += total(v[u]);
        } else {
            for (u64 i = mine; i < count; i += READ_THREADS) sum += total(load(from + i));
        }
    }
    sums[blockIdx.x * (u64)READ_THREADS + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(COPY_THREADS) stream_copy(const Words* from, Words* to, u64 count) {
    const u64 i = blockIdx.x * (u64)COPY_THREADS + threadIdx.x;
    if (i < count) store_once(to + i, load_kept(from + i));
}

extern "C" __global__ void __launch_bounds__(TRIAD_THREADS) stream_triad(const Words* b, const Words* c, Words* out, u64 count, float scale) {
    const u64 i = blockIdx.x * (u64)TRIAD_THREADS + threadIdx.x;
    if (i >= count) return;
    const Words x = load_kept(b + i), y = load_kept(c + i);
    store_kept(out + i, Words{triad(x.x, y.x, scale), triad(x.y, y.y, scale), triad(x.z, y.z, scale), triad(x.w, y.w, scale)});
}
