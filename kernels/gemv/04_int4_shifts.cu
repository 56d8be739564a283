// int4, shift and mask: two weights share a byte, and have to be taken apart.
// The change: the weights of a group of 128 are whole numbers from -7 to 7 times one fp16 scale; 8 is added and eight of them share
// a word. A load of 16 bytes brings 32, which are shifted down, masked and converted to fp32 one after the other.
// Why it helps: 4.125 bits a weight instead of 8.125. Why it is slow: some five instructions a weight, four of them to unpack it: the
// SMs now have more to do than memory has.
//
// y (rows) = W times x (cols, fp16), where W[row][col] = scales[row][col / 128] * (code - 8); sums in fp32, y in fp32. Of the eight
// weights of a word, number i lies in bits 4 (i / 2) + 16 (i % 2) and up. Rows of codes are filled up to whole groups.
// GUARD 1: any cols, x is fetched value by value; GUARD 0: cols is a multiple of 128. THREADS a block, grid (rows / ROWS).

#define LANE 32
#define GROUP 128
#define WARPS (THREADS / 32)

typedef unsigned short half;  // the bits of an fp16 number

// Sixteen bytes that nobody will want again: L1 is left to x and the scales.
__device__ __forceinline__ uint4 stream(const unsigned char* p) {
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ float widen(unsigned bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"((half)bits));
    return v;
}

// Eight neighbours of x, of which `inside` exist.
__device__ __forceinline__ void values(const half* p, int inside, float* v) {
#if GUARD
    for (int i = 0; i < 8; ++i) v[i] = i < inside ? widen(p[i]) : 0.0f;
#else
    const uint4 bits = *reinterpret_cast<const uint4*>(p);
    v[0] = widen(bits.x), v[1] = widen(bits.x >> 16), v[2] = widen(bits.y), v[3] = widen(bits.y >> 16);
    v[4] = widen(bits.z), v[5] = widen(bits.z >> 16), v[6] = widen(bits.w), v[7] = widen(bits.w >> 16);
#endif
}

__device__ __forceinline__ float eight(unsigned word, const float* v, float total) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int code = word >> (4 * (i / 2) + 16 * (i % 2)) & 15u;
        total += (float)(code - 8) * v[i];
    }
    return total;
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

extern "C" __global__ void __launch_bounds__(THREADS) gemv_int4_shifts(
    const unsigned char* codes, const half* __restrict__ scales, const half* __restrict__ x, float* y, int rows, int cols) {
    const int row0 = blockIdx.x * ROWS, groups = (cols + GROUP - 1) / GROUP;
    const unsigned char* row[ROWS];
    const half* scale[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const long long before = (long long)min(row0 + r, rows - 1) * groups;
        row[r] = codes + before * (GROUP / 2);
        scale[r] = scales + before;
    }

    float sum[ROWS] = {0.0f};
    for (int col = threadIdx.x * LANE; col < groups * GROUP; col += THREADS * LANE) {
        uint4 w[ROWS];
        half s[ROWS];
        float v[8], part[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) w[r] = stream(row[r] + col / 2);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) s[r] = scale[r][col / GROUP];
        values(x + col, cols - col, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) part[r] = eight(w[r].x, v, 0.0f);
        values(x + col + 8, cols - col - 8, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) part[r] = eight(w[r].y, v, part[r]);
        values(x + col + 16, cols - col - 16, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) part[r] = eight(w[r].z, v, part[r]);
        values(x + col + 24, cols - col - 24, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sum[r] += widen(s[r]) * eight(w[r].w, v, part[r]);
    }
    finish(sum, y + row0, rows - row0);
}
