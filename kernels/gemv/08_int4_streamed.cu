// int4, streamed: shared memory holds what is under way, so that many more bytes are, and no code is made into a number.
// The change: a warp sends for its next STAGES - 1 steps by cp.async, weights, scales and x, and only waits for the oldest. Codes
// are not converted: n in the lowest bits of an fp16 is n * 2^-24, which the tensor cores multiply like any other number; n
// four bits higher is sixteen times that and goes into sums of its own. That codes are eight too large is made good by
// eight times the sum of x, which is one product more for all TILES.
// Why it helps: bytes under way no longer take registers, and a warp multiplies while its next weights travel; five instructions
// for eight weights instead of nine.
//
// y (rows) = W times x (cols, fp16), where W[row][col] = scales[row][col / 128] * (code - 8); sums in fp32, y in fp32. Of the eight
// weights of a word, number i lies in bits 4 (i / 2) + 16 (i % 2) and up. Rows of codes are filled up to whole groups.
// W and scales lie in blocks of 16 rows x 1 group, rows filled up to 16. Any cols.
// TILES of 16 rows a warp, WARPS a block, SPLIT of which share the groups of the same rows; STAGES (3 or more); any grid, whose
// blocks go through the rows by turns; WARPS * STAGES * (1056 * TILES + 256) bytes of dynamic shared memory.

#define GROUP 128
#define ROWS (16 * TILES)
#define SCALES (TILES * 1024)       // where they lie in a stage
#define VECTOR (SCALES + TILES * 32)
#define STAGE (VECTOR + GROUP * 2)
#ifndef HINT
#define HINT 0
#endif

typedef unsigned short half;  // the bits of an fp16 number

// Sixteen bytes on their way into shared memory; only `bytes` of them are read, the others become zero.
__device__ __forceinline__ void send(unsigned to, const void* from, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void stream(unsigned to, const void* from, unsigned long long policy) {
#if HINT
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(policy) : "memory");
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
#endif
}
__device__ __forceinline__ void sent() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void oldest_arrived() {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncwarp();
}
__device__ __forceinline__ uint4 read(unsigned from) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(from));
    return v;
}
__device__ __forceinline__ float read_half(unsigned from) {
    half bits;
    float v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(from));
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}

// c (16 x 8) += a (16 x 16) times b (16 x 8), spread over the lanes as PTX lays down for m16n8k16.
__device__ __forceinline__ void mma(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) gemv_int4_streamed(
    const uint4* codes, const half* scales, const half* x, float* y, int rows, int cols) {
    extern __shared__ __align__(128) char shared[];
    __shared__ float part[WARPS][ROWS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, slice = warp % SPLIT;
    const int upper = lane / 4, piece = lane % 4;  // rows `upper` and `upper` + 8 of a tile; which 32 of a group
    const int groups = (cols + GROUP - 1) / GROUP, tiles = (rows + 15) / 16, units = (tiles + TILES * WARPS / SPLIT - 1) / (TILES * WARPS / SPLIT);
    const unsigned ring = (unsigned)__cvta_generic_to_shared(shared) + warp * (STAGES * STAGE);
    unsigned long long policy = 0;
    if (HINT) asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));

    // what is sent for runs ahead of what is multiplied, from one unit of rows into the next
    int next_unit = slice < groups ? blockIdx.x : units, next_group = slice;
    unsigned put = ring, get = ring;
    const auto fetch = [&] {
        if (next_unit < units) {
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                const int tile = min((next_unit * (WARPS / SPLIT) + warp / SPLIT) * TILES + t, tiles - 1);
                const long long block = (long long)tile * groups + next_group;
                stream(put + t * 1024 + lane * 16, codes + block * 64 + lane, policy);
                stream(put + t * 1024 + 512 + lane * 16, codes + block * 64 + 32 + lane, policy);
                if (lane / 2 == t) send(put + SCALES + lane * 16, scales + block * 16 + lane % 2 * 8, 16);
            }
            // eight neighbours a lane; what the lanes of a product read together lies together
            if (lane >= 16) {
                const int eight = lane - 16, col = next_group * GROUP + eight * 8, bytes = max(0, min(16, (cols - col) * 2));
                send(put + VECTOR + (eight % 4 * 4 + eight / 4) * 16, bytes > 0 ? x + col : x, bytes);
            }
            if ((next_group += SPLIT) >= groups) next_group = slice, next_unit += gridDim.x;
        }
        sent();
        if ((put += STAGE) == ring + STAGES * STAGE) put = ring;
    };
    for (int i = 0; i < STAGES - 1; ++i) fetch();

    for (int unit = blockIdx.x; unit < units; unit += gridDim.x) {
        float sum[2 * TILES] = {0.0f};
        for (int group = slice; group < groups; group += SPLIT) {
            oldest_arrived();
            fetch();
            unsigned v[16];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const uint4 eight = read(get + VECTOR + (j * 4 + piece) * 16);
                v[4 * j] = eight.x, v[4 * j + 1] = eight.y, v[4 * j + 2] = eight.z, v[4 * j + 3] = eight.w;
            }
            float eights[4] = {0.0f};  // -8 * 2^-24 times the sum of x
#pragma unroll
            for (int i = 0; i < 16; i += 2) mma(eights, 0x80088008u, 0x80088008u, 0x80088008u, 0x80088008u, v[i], v[i + 1]);
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                float low[4] = {eights[0], eights[1], eights[2], eights[3]}, high[4] = {0.0f};
                const uint4 a = read(get + t * 1024 + lane * 16), b = read(get + t * 1024 + 512 + lane * 16);
                const unsigned above[4] = {a.x, a.y, a.z, a.w}, below[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const unsigned m = 0x000f000fu, n = 0x00f000f0u, a8 = above[j] >> 8, b8 = below[j] >> 8;
                    mma(low, above[j] & m, below[j] & m, a8 & m, b8 & m, v[4 * j], v[4 * j + 2]);
                    mma(high, above[j] & n, below[j] & n, a8 & n, b8 & n, v[4 * j + 1], v[4 * j + 3]);
                }
                sum[2 * t] += read_half(get + SCALES + t * 32 + upper * 2) * (low[0] + high[0] * 0.0625f);
                sum[2 * t + 1] += read_half(get + SCALES + t * 32 + 16 + upper * 2) * (low[2] + high[2] * 0.0625f);
            }
            if ((get += STAGE) == ring + STAGES * STAGE) get = ring;
        }

        // Every column of the products is the same one.
        if (piece == 0)
#pragma unroll
            for (int r = 0; r < 2 * TILES; ++r) part[warp][upper + 8 * r] = sum[r] * 16777216.0f;
        if (SPLIT > 1) __syncthreads();
        else __syncwarp();
        for (int i = SPLIT > 1 ? threadIdx.x : warp * ROWS + lane; i < (SPLIT > 1 ? WARPS / SPLIT : warp + 1) * ROWS; i += SPLIT > 1 ? WARPS * 32 : 32) {
            const int row = unit * (WARPS / SPLIT) * ROWS + i;
            float total = 0.0f;
            for (int w = 0; w < SPLIT; ++w) total += part[i / ROWS * SPLIT + w][i % ROWS];
            if (row < rows) y[row] = total;
        }
        if (SPLIT > 1) __syncthreads();
        else __syncwarp();
    }
}
