// Fused: one kernel, and the square is never written.
// The change: a block keeps its scores on the chip. It takes BK keys at a time and remembers for each query the largest score
// so far and the sum of the weights so far (online softmax, Milakov and Gimelshein 2018; FlashAttention, Dao et al. 2022). When
// a larger score turns up, what was added up before shrinks by the same factor as its weights.
// Why it helps: the multiplications are those of the rung before, in the same tiles; the four passes over S * S values are gone
// from memory, and so are the square itself and two launches.
//
// O (heads x S x 128) = softmax(Q K^T / sqrt(128)) V, row-major bf16. CAUSAL 1: a query sees no later key. GUARD 1: any S;
// GUARD 0: S is a multiple of BQ and BK. Pointers are 16-byte aligned. BQ queries a block of 2 * BQ threads, grid (queries /
// BQ, heads), BLOCKS blocks to an SM.

#define D 128
#define BK 64
#define STEP 16
#define WEIGHTS (BQ + 4)  // the row of a transposed tile, without the conflicts that BQ would have
#define THREADS (BQ * 2)
#define MINUS_INFINITY __int_as_float(0xff800000)
#define SCALE 0.08838834764831845f

#if GUARD
#define INSIDE(condition) (condition)
#else
#define INSIDE(condition) true
#endif

struct Eight {
    float at[8];
};

__device__ __forceinline__ float widen(unsigned bits) { return __uint_as_float(bits); }

// Eight bf16 values with one load, as fp32; zero where `inside` is false.
__device__ __forceinline__ Eight fetch(const unsigned short* p, bool inside) {
    uint4 v = make_uint4(0, 0, 0, 0);
    if (inside) v = *reinterpret_cast<const uint4*>(p);
    return {widen(v.x << 16), widen(v.x & 0xffff0000u), widen(v.y << 16), widen(v.y & 0xffff0000u),
            widen(v.z << 16), widen(v.z & 0xffff0000u), widen(v.w << 16), widen(v.w & 0xffff0000u)};
}

// Two fp32 values rounded to bf16, to nearest and ties to even.
__device__ __forceinline__ unsigned narrow(float low, float high) {
    const unsigned a = __float_as_uint(low), b = __float_as_uint(high);
    return (a + 0x7fffu + (a >> 16 & 1u)) >> 16 | (b + 0x7fffu + (b >> 16 & 1u) & 0xffff0000u);
}

// sum[8][4 * QUADS] += a[k][rows] * b[k][columns] over STEP values of k; a thread's rows and columns lie in fours, half a tile
// apart.
template <int QUADS>
__device__ __forceinline__ void multiply(const float* a, int a_stride, const float* b, int b_stride, float (*sum)[4 * QUADS]) {
#pragma unroll
    for (int k = 0; k < STEP; ++k) {
        __align__(16) float from_a[8];
        __align__(16) float from_b[4 * QUADS];
        *reinterpret_cast<float4*>(&from_a[0]) = *reinterpret_cast<const float4*>(&a[k * a_stride]);
        *reinterpret_cast<float4*>(&from_a[4]) = *reinterpret_cast<const float4*>(&a[k * a_stride + BQ / 2]);
#pragma unroll
        for (int q = 0; q < QUADS; ++q)
            *reinterpret_cast<float4*>(&from_b[4 * q]) = *reinterpret_cast<const float4*>(&b[k * b_stride + q * 64]);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 4 * QUADS; ++j) sum[i][j] += from_a[i] * from_b[j];
    }
}

// A block's scores of BK keys: Q and K pass through shared memory STEP dimensions at a time, transposed.
__device__ __forceinline__ void score(const unsigned short* Q, const unsigned short* K, int queries, int keys, float* q,
                                      float* k, int row, int col, float (*sum)[4]) {
    const int tid = threadIdx.x, part = tid % 2 * 8, line = tid / 2;
#pragma unroll 1
    for (int d = 0; d < D; d += STEP) {
        __syncthreads();
        const Eight from_q = fetch(Q + line * D + d + part, INSIDE(line < queries));
#pragma unroll
        for (int i = 0; i < 8; ++i) q[(part + i) * BQ + line] = from_q.at[i];
        if (line < BK) {
            const Eight from_k = fetch(K + line * D + d + part, INSIDE(line < keys));
#pragma unroll
            for (int i = 0; i < 8; ++i) k[(part + i) * BK + line] = from_k.at[i];
        }
        __syncthreads();
        multiply<1>(q + row, BQ, k + col, BK, sum);
    }
}

// STEP values into shared memory, as they lie.
__device__ __forceinline__ void load_values(const unsigned short* V, int keys, float* v) {
#pragma unroll
    for (int i = 0; i < STEP * D / 8; i += THREADS) {
        const int line = (i + threadIdx.x) / 16, at = line * D + threadIdx.x % 16 * 8;
        const Eight from_v = fetch(V + at, INSIDE(line < keys));
#pragma unroll
        for (int j = 0; j < 8; j += 4)
            *reinterpret_cast<float4*>(&v[at + j]) =
                make_float4(from_v.at[j], from_v.at[j + 1], from_v.at[j + 2], from_v.at[j + 3]);
    }
}

// The place of a thread in its block's tile: BQ / 8 x 16 threads, a warp 2 rows of 16. With the row in the second bit of the
// lane no bank is asked twice.
__device__ __forceinline__ int tile_row() { return (threadIdx.x / 32 * 2 + (threadIdx.x >> 1 & 1)) * 4; }
__device__ __forceinline__ int tile_col() { return ((threadIdx.x & 1) | (threadIdx.x % 32 >> 2) << 1) * 4; }

// exp(x) as a power of two; the largest x of a row is 0.
__device__ __forceinline__ float power(float x) { return exp2f(x * 1.4426950408889634f); }

// Over the sixteen threads of a row: these bits of the lane are their columns.
__device__ __forceinline__ float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 4));
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 8));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 16));
}
__device__ __forceinline__ float row_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    x += __shfl_xor_sync(0xffffffffu, x, 4);
    x += __shfl_xor_sync(0xffffffffu, x, 8);
    return x + __shfl_xor_sync(0xffffffffu, x, 16);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
attention_fused(const unsigned short* Q, const unsigned short* K, const unsigned short* V, unsigned short* O, int S) {
    __shared__ __align__(16) float tile[STEP * (BQ + BK)];
    __shared__ __align__(16) float p[BK * WEIGHTS];
    __shared__ float tops[BQ], totals[BQ];  // in shared memory, as the registers are full
    float *q = tile, *k = tile + STEP * BQ, *v = tile;  // V takes the place of Q and K
    const int row = tile_row(), col = tile_col(), query0 = blockIdx.x * BQ, tid = threadIdx.x;
    const long long head = blockIdx.y;
    Q += (head * S + query0) * D;
    const int end = CAUSAL ? min(S, query0 + BQ) : S;
    const bool first = col == 0;  // of the sixteen threads of a row
    float out[8][8] = {};
    for (int i = tid; i < BQ; i += THREADS) tops[i] = MINUS_INFINITY, totals[i] = 0.0f;

    for (int key0 = 0; key0 < end; key0 += BK) {
        float sum[8][4] = {};
        score(Q, K + (head * S + key0) * D, S - query0, S - key0, q, k, row, col, sum);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int line = row + i % 4 + i / 4 * (BQ / 2);
            const float before = tops[line];
            float top = before;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int key = key0 + col + j;
                sum[i][j] = INSIDE(key < S) && (!CAUSAL || key <= query0 + line) ? sum[i][j] * SCALE : MINUS_INFINITY;
                top = fmaxf(top, sum[i][j]);
            }
            top = row_max(top);
            const float shrink = power(before - top);
            float total = 0.0f;
#pragma unroll
            for (int j = 0; j < 4; ++j) total += sum[i][j] = power(sum[i][j] - top);
            total = row_sum(total);
            __syncwarp();
            if (first) {
                tops[line] = top;
                totals[line] = totals[line] * shrink + total;
            }
#pragma unroll
            for (int j = 0; j < 8; ++j) out[i][j] *= shrink;
        }
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int i = 0; i < 8; i += 4)
                *reinterpret_cast<float4*>(&p[(col + j) * WEIGHTS + row + i / 4 * (BQ / 2)]) =
                    make_float4(sum[i][j], sum[i + 1][j], sum[i + 2][j], sum[i + 3][j]);
#pragma unroll 1
        for (int step = 0; step < BK; step += STEP) {
            __syncthreads();
            load_values(V + (head * S + key0 + step) * D, S - key0 - step, v);
            __syncthreads();
            multiply<2>(p + step * WEIGHTS + row, WEIGHTS, v + col, D, out);
        }
    }

    O += (head * S + query0) * D;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int line = row + i % 4 + i / 4 * (BQ / 2);
        const float share = 1.0f / totals[line];
        if (INSIDE(query0 + line < S)) {
            *reinterpret_cast<uint2*>(&O[line * D + col]) =
                make_uint2(narrow(out[i][0] * share, out[i][1] * share), narrow(out[i][2] * share, out[i][3] * share));
            *reinterpret_cast<uint2*>(&O[line * D + col + 64]) =
                make_uint2(narrow(out[i][4] * share, out[i][5] * share), narrow(out[i][6] * share, out[i][7] * share));
        }
    }
}
