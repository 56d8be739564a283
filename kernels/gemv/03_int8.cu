// int8: every weight is one byte, with a scale for every 128.
// The change: the weights of a group of 128 are whole numbers from -127 to 127 times one fp16 scale. They lie in memory with 128
// added, so that no sign is in the way: four bytes of a word become four fp32 numbers by setting them as the last digits of 2^23.
// Why it helps: 8.125 bits a weight instead of 16. The scale is multiplied once a group's part, not once a weight.
//
// y (rows) = W times x (cols, fp16), where W[row][col] = scales[row][col / 128] * (codes[row][col] - 128); sums in fp32, y in fp32.
// Rows of codes are filled up to whole groups. GUARD 1: any cols, x is fetched value by value; GUARD 0: cols is a multiple of 128.
// THREADS a block, grid (rows / ROWS).

#define LANE 16
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

// Sixteen neighbours of x, of which `inside` exist.
__device__ __forceinline__ void values(const half* p, int inside, float* v) {
#if GUARD
    for (int i = 0; i < LANE; ++i) v[i] = i < inside ? widen(p[i]) : 0.0f;
#else
#pragma unroll
    for (int i = 0; i < LANE; i += 8) {
        const uint4 bits = *reinterpret_cast<const uint4*>(p + i);
        v[i + 0] = widen(bits.x), v[i + 1] = widen(bits.x >> 16), v[i + 2] = widen(bits.y), v[i + 3] = widen(bits.y >> 16);
        v[i + 4] = widen(bits.z), v[i + 5] = widen(bits.z >> 16), v[i + 6] = widen(bits.w), v[i + 7] = widen(bits.w >> 16);
    }
#endif
}

// One of the four codes of a word: 2^23 + code has the code in its last byte; 2^23 + 128 less is the weight over its scale.
__device__ __forceinline__ float code(unsigned word, int i) {
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7650u | i)) - 8388736.0f;
}
__device__ __forceinline__ float four(unsigned word, const float* v, float total) {
#pragma unroll
    for (int i = 0; i < 4; ++i) total += code(word, i) * v[i];
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

extern "C" __global__ void __launch_bounds__(THREADS)
    gemv_int8(const unsigned char* codes, const half* __restrict__ scales, const half* __restrict__ x, float* y, int rows, int cols) {
    const int row0 = blockIdx.x * ROWS, groups = (cols + GROUP - 1) / GROUP;
    const unsigned char* row[ROWS];
    const half* scale[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const long long before = (long long)min(row0 + r, rows - 1) * groups;
        row[r] = codes + before * GROUP;
        scale[r] = scales + before;
    }

    float sum[ROWS] = {0.0f};
    for (int col = threadIdx.x * LANE; col < groups * GROUP; col += THREADS * LANE) {
        uint4 w[ROWS];
        half s[ROWS];
        float v[LANE];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) w[r] = stream(row[r] + col);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) s[r] = scale[r][col / GROUP];
        values(x + col, cols - col, v);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            sum[r] += widen(s[r]) * four(w[r].w, v + 12, four(w[r].z, v + 8, four(w[r].y, v + 4, four(w[r].x, v, 0.0f))));
    }
    finish(sum, y + row0, rows - row0);
}
