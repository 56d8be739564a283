// fp32: every weight is four bytes, and each is used once.
// The change: a block takes ROWS rows, its threads side by side along them, 16 bytes a lane. A thread loads from all of its rows
// before it uses the first, so that many loads are on their way at once; x comes out of L1, which the weights pass by.
// Why it is slow: two FLOP for every four bytes. No arithmetic can help: the matrix has to come out of device memory.
//
// y (rows) = W (rows x cols, row-major fp32) times x (cols, fp16); products and sums in fp32, y in fp32.
// GUARD 1: any cols, values are fetched one by one and what lies outside counts as zero; GUARD 0: cols is a multiple of 4 and the
// pointers are 16-byte aligned. THREADS a block, grid (rows / ROWS).

#define LANE 4
#define WARPS (THREADS / 32)

typedef unsigned short half;  // the bits of an fp16 number

// Sixteen bytes that nobody will want again: L1 is left to x.
__device__ __forceinline__ float4 stream(const float* p) {
    float4 v;
    asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ float widen(unsigned bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((half)bits));
    return v;
}

// Four weights, and the four values of x that they meet, of which `inside` exist.
__device__ __forceinline__ float4 weights(const float* p, int inside) {
#if GUARD
    return make_float4(inside > 0 ? p[0] : 0.0f, inside > 1 ? p[1] : 0.0f, inside > 2 ? p[2] : 0.0f, inside > 3 ? p[3] : 0.0f);
#else
    return stream(p);
#endif
}
__device__ __forceinline__ void values(const half* p, int inside, float* v) {
#if GUARD
    for (int i = 0; i < LANE; ++i) v[i] = i < inside ? widen(p[i]) : 0.0f;
#else
    const uint2 bits = *reinterpret_cast<const uint2*>(p);
    v[0] = widen(bits.x), v[1] = widen(bits.x >> 16), v[2] = widen(bits.y), v[3] = widen(bits.y >> 16);
#endif
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
    gemv_fp32(const float* W, const half* __restrict__ x, float* y, int rows, int cols) {
    const int row0 = blockIdx.x * ROWS;
    const float* row[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) row[r] = W + (long long)min(row0 + r, rows - 1) * cols;

    float sum[ROWS] = {0.0f};
    for (int col = threadIdx.x * LANE; col < cols; col += THREADS * LANE) {
        float4 w[ROWS];
        float v[LANE];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) w[r] = weights(row[r] + col, cols - col);
        values(x + col, cols - col, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            sum[r] += w[r].x * v[0];
            sum[r] += w[r].y * v[1];
            sum[r] += w[r].z * v[2];
            sum[r] += w[r].w * v[3];
        }
    }
    finish(sum, y + row0, rows - row0);
}
