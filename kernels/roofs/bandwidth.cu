// Bandwidth probes: the memory roofs, one a level. All read 16 bytes a lane, neighbours side by side, and add up what they read as
// unsigned integers: the sum wraps without rounding, so it proves to the bit that everything was read, in whatever order.

#define TILE_VECTORS (1024 + 7 * 32)

struct __align__(16) Words {
    unsigned x, y, z, w;
};

__device__ __forceinline__ unsigned total(Words v) { return v.x + v.y + v.z + v.w; }

// Load through L1, or past it from L2 on.
__device__ __forceinline__ Words load_l1(const Words* p) {
    Words v;
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ Words load_l2(const Words* p) {
    Words v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}

// Shared memory, the SM's own load path: 1024 threads read 20 KiB over and over, each warp 512 neighbouring bytes at a time.
// Bytes: 16 x 8 x rounds x threads.
extern "C" __global__ void __launch_bounds__(1024) probe_shared(const Words* data, unsigned* out, int rounds) {
    __shared__ Words tile[TILE_VECTORS];
    const unsigned t = threadIdx.x;
    for (unsigned i = t; i < TILE_VECTORS; i += 1024) tile[i] = data[i];
    __syncthreads();
    unsigned sum = 0;
    for (int r = 0; r < rounds; ++r) {
        const Words* p = tile + ((t + r) & 1023);
#pragma unroll
        for (int u = 0; u < 8; ++u) sum += total(p[u * 32]);
    }
    out[blockIdx.x * 1024 + t] = sum;
}

// L1: the same 20 KiB out of global memory, which stay in L1 after the first round. Bytes: 16 x 8 x rounds x threads.
extern "C" __global__ void __launch_bounds__(1024) probe_l1(const Words* data, unsigned* out, int rounds) {
    const unsigned t = threadIdx.x;
    unsigned sum = 0;
    for (int r = 0; r < rounds; ++r) {
        const Words* p = data + ((t + r) & 1023);
#pragma unroll
        for (int u = 0; u < 8; ++u) sum += total(load_l1(p + u * 32));
    }
    out[blockIdx.x * 1024 + t] = sum;
}

// L2 and DRAM: all threads together read `count` vectors, `rounds` times. Which level answers is a matter of the size alone:
// a fraction of L2 read again and again, or many times L2 read once. Bytes: 16 x count x rounds.
extern "C" __global__ void __launch_bounds__(512) probe_read(const Words* data, unsigned* out, unsigned long long count, int rounds) {
    const unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned sum = 0;
    for (int r = 0; r < rounds; ++r) {
        unsigned long long i = first;
        for (; i + (UNROLL - 1) * stride < count; i += UNROLL * stride) {
            Words v[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) v[u] = load_l2(data + i + u * stride);
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) sum += total(v[u]);
        }
        for (; i < count; i += stride) sum += total(load_l2(data + i));
    }
    out[first] = sum;
}

// DRAM copy: read and write. Bytes: 2 x 16 x count.
extern "C" __global__ void __launch_bounds__(512) probe_copy(const Words* from, Words* to, unsigned long long count) {
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count; i += stride) to[i] = from[i];
}
