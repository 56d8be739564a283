// Unfused: three kernels, and a square of S x S values between them.
// The change: every query meets every key (scores), each row of scores becomes weights that add up to one (softmax), and the
// weights add up the values (weighted sum).  The square of scores is written, read, written again as weights, and read again.
// Why it is slow: four passes over S * S fp32 values for every head, where the inputs and the output are only 4 * S * 128 bf16.
//
// O (heads x S x 128) = softmax(Q K^T / sqrt(128)) V, row-major bf16; the square (heads x S x S) is fp32. CAUSAL 1: a query
// sees no later key. GUARD 1: any S; GUARD 0: S is a multiple of BQ and BK. Pointers are 16-byte aligned. Scores and weighted
// sum: BQ queries a block of 2 * BQ threads, grid (queries / BQ, heads), BLOCKS blocks to an SM; softmax: a row a block of ROW
// threads, grid (S, heads).

#define D 128
#define BK 64
#define STEP 16
#define WEIGHTS (BQ + 4)  // the row of a transposed tile, without the conflicts that BQ would have
#define THREADS (BQ * 2)
#define ROW 512
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

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
attention_scores(const unsigned short* Q, const unsigned short* K, float* square, int S) {
    __shared__ __align__(16) float q[STEP * BQ];
    __shared__ __align__(16) float k[STEP * BK];
    const int row = tile_row(), col = tile_col(), query0 = blockIdx.x * BQ;
    const long long head = blockIdx.y;
    Q += (head * S + query0) * D;
    K += head * S * D;
    square += (head * S + query0) * S;
    const int end = CAUSAL ? min(S, query0 + BQ) : S;
    for (int key0 = 0; key0 < end; key0 += BK) {
        float sum[8][4] = {};
        score(Q, K + (long long)key0 * D, S - query0, S - key0, q, k, row, col, sum);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const int line = row + i % 4 + i / 4 * (BQ / 2);
            float* to = square + (long long)line * S + key0 + col;
#if GUARD
            for (int j = 0; j < 4; ++j)
                if (query0 + line < S && key0 + col + j < S) to[j] = sum[i][j] * SCALE;
#else
            *reinterpret_cast<float4*>(to) =
                make_float4(sum[i][0] * SCALE, sum[i][1] * SCALE, sum[i][2] * SCALE, sum[i][3] * SCALE);
#endif
        }
    }
}

// exp(x) as a power of two; the largest x of a row is 0.
__device__ __forceinline__ float power(float x) { return exp2f(x * 1.4426950408889634f); }

// One row: its maximum and the sum of exp(score - maximum) in one pass (Milakov and Gimelshein 2018), then the weights.
extern "C" __global__ void __launch_bounds__(ROW) attention_softmax(float* square, int S) {
    __shared__ float tops[ROW / 32], sums[ROW / 32];
    const int query = blockIdx.x, tid = threadIdx.x;
    const int seen = CAUSAL ? query + 1 : S;
    square += ((long long)blockIdx.y * S + query) * S;
    float top = MINUS_INFINITY, sum = 0.0f;
#if GUARD
    for (int i = tid; i < seen; i += ROW) {
        const float x = square[i], before = top;
        top = fmaxf(top, x);
        sum = sum * power(before - top) + power(x - top);
    }
#else
    for (int i = tid * 4; i < seen; i += ROW * 4) {
        const float4 v = *reinterpret_cast<const float4*>(&square[i]);
        const float x[4] = {v.x, i + 1 < seen ? v.y : MINUS_INFINITY, i + 2 < seen ? v.z : MINUS_INFINITY,
                            i + 3 < seen ? v.w : MINUS_INFINITY};
        const float before = top;
        top = fmaxf(fmaxf(fmaxf(top, x[0]), fmaxf(x[1], x[2])), x[3]);
        sum = sum * power(before - top) + power(x[0] - top) + power(x[1] - top) + power(x[2] - top) + power(x[3] - top);
    }
#endif
    float all = top;
    for (int far = 16; far > 0; far /= 2) all = fmaxf(all, __shfl_xor_sync(0xffffffffu, all, far));
    if (tid % 32 == 0) tops[tid / 32] = all;
    __syncthreads();
    all = tops[0];
    for (int i = 1; i < ROW / 32; ++i) all = fmaxf(all, tops[i]);
    sum *= power(top - all);
    for (int far = 16; far > 0; far /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, far);
    if (tid % 32 == 0) sums[tid / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int i = 0; i < ROW / 32; ++i) sum += sums[i];
    const float share = 1.0f / sum;
    // the weighted sum reads to the end of a tile
    const int end = CAUSAL ? min(S, (query / BQ + 1) * BQ) : S;
#if GUARD
    for (int i = tid; i < end; i += ROW) square[i] = i < seen ? power(square[i] - all) * share : 0.0f;
#else
    for (int i = tid * 4; i < end; i += ROW * 4) {
        const float4 v = *reinterpret_cast<const float4*>(&square[i]);
        *reinterpret_cast<float4*>(&square[i]) = make_float4(
            i + 0 < seen ? power(v.x - all) * share : 0.0f, i + 1 < seen ? power(v.y - all) * share : 0.0f,
            i + 2 < seen ? power(v.z - all) * share : 0.0f, i + 3 < seen ? power(v.w - all) * share : 0.0f);
    }
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
attention_weighted_sum(const float* square, const unsigned short* V, unsigned short* O, int S) {
    __shared__ __align__(16) float p[STEP * WEIGHTS];
    __shared__ __align__(16) float v[STEP * D];
    const int row = tile_row(), col = tile_col(), query0 = blockIdx.x * BQ, tid = threadIdx.x;
    const long long head = blockIdx.y;
    square += (head * S + query0) * S;
    V += head * S * D;
    O += (head * S + query0) * D;
    const int end = CAUSAL ? min(S, query0 + BQ) : S;
    float out[8][8] = {};
    for (int key0 = 0; key0 < end; key0 += STEP) {
        __syncthreads();
#pragma unroll
        for (int line = tid / 4; line < BQ; line += THREADS / 4) {
            const int key = tid % 4 * 4;
            const float* from = square + (long long)line * S + key0 + key;
#if GUARD
            for (int i = 0; i < 4; ++i)
                p[(key + i) * WEIGHTS + line] = query0 + line < S && key0 + key + i < end ? from[i] : 0.0f;
#else
            const float4 w = *reinterpret_cast<const float4*>(from);
            p[(key + 0) * WEIGHTS + line] = w.x;
            p[(key + 1) * WEIGHTS + line] = w.y;
            p[(key + 2) * WEIGHTS + line] = w.z;
            p[(key + 3) * WEIGHTS + line] = w.w;
#endif
        }
        load_values(V + (long long)key0 * D, S - key0, v);
        __syncthreads();
        multiply<2>(p + row, WEIGHTS, v + col, D, out);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int line = row + i % 4 + i / 4 * (BQ / 2);
        if (INSIDE(query0 + line < S)) {
            *reinterpret_cast<uint2*>(&O[line * D + col]) =
                make_uint2(narrow(out[i][0], out[i][1]), narrow(out[i][2], out[i][3]));
            *reinterpret_cast<uint2*>(&O[line * D + col + 64]) =
                make_uint2(narrow(out[i][4], out[i][5]), narrow(out[i][6], out[i][7]));
        }
    }
}
