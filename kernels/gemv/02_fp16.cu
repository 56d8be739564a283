// fp16: every weight is two bytes.
// The change: the weights are rounded to fp16; a load of 16 bytes brings eight of them. They are widened on the chip: products and
// sums stay fp32.
// Why it helps: half the bytes for the same multiply-adds, and bytes are all that this kernel waits for.
//
// y (rows) = W (rows x cols, row-major fp16) times x (cols, fp16); products and sums in fp32, y in fp32.
// GUARD 1: any cols, values are fetched one by one and what lies outside counts as zero; GUARD 0: cols is a multiple of 8 and the
// pointers are 16-byte aligned. THREADS a block, grid (rows / ROWS).

#define LANE 8
#define WARPS (THREADS / 32)

typedef unsigned short half;  // the bits of an fp16 number

// Sixteen bytes that nobody will want again: L1 is left to x.
__device__ __forceinline__ uint4 stream(const half* p) {
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ float widen(unsigned bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((half)bits));
    return v;
}

// Eight neighbours, of which `inside` exist.
__device__ __forceinline__ uint4 one_by_one(const half* p, int inside) {
    unsigned v[4];
    for (int i = 0; i < 4; ++i) v[i] = (2 * i < inside ? p[2 * i] : 0u) | (2 * i + 1 < inside ? p[2 * i + 1] : 0u) << 16;
    return make_uint4(v[0], v[1], v[2], v[3]);
}
#if GUARD
#define WEIGHTS(p, inside) one_by_one(p, inside)
#define VALUES(p, inside) one_by_one(p, inside)
#else
#define WEIGHTS(p, inside) stream(p)
#define VALUES(p, inside) *reinterpret_cast<const uint4*>(p)
#endif

__device__ __forceinline__ void unpack(uint4 bits, float* v) {
    v[0] = widen(bits.x), v[1] = widen(bits.x >> 16), v[2] = widen(bits.y), v[3] = widen(bits.y >> 16);
    v[4] = widen(bits.z), v[5] = widen(bits.z >> 16), v[6] = widen(bits.w), v[7] = widen(bits.w >> 16);
}

// Add up what the threads of the block have of each row; `inside` of the rows exist.
__device__ __forceinline__ void finish(const float* sum, float* y, int inside) {
    __shared__ float part[ROWS][WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float total = sum[r];
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) total += __shfl_xor_sync(0xffffffffu, total, distance);
        if (lane == 0) part[r][warp] = total;
    }
    __syncthreads();
    if (threadIdx.x < ROWS && (int)threadIdx.x < inside) {
        float total = 0.0f;
        for (int w = 0; w < WARPS; ++w) total += part[threadIdx.x][w];
        y[threadIdx.x] = total;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gemv_fp16(const half* W, const half* __restrict__ x, float* y, int rows, int cols) {
    const int row0 = blockIdx.x * ROWS;
    const half* row[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) row[r] = W + (long long)min(row0 + r, rows - 1) * cols;

    float sum[ROWS] = {0.0f};
    for (int col = threadIdx.x * LANE; col < cols; col += THREADS * LANE) {
        uint4 w[ROWS];
        float v[LANE], u[LANE];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) w[r] = WEIGHTS(row[r] + col, cols - col);
        unpack(VALUES(x + col, cols - col), v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            unpack(w[r], u);
#pragma unroll
            for (int i = 0; i < LANE; ++i) sum[r] += u[i] * v[i];
        }
    }
    finish(sum, y + row0, rows - row0);
}
