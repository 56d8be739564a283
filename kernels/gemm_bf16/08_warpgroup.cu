// Warpgroup products: four warps multiply tiles in shared memory by one asynchronous instruction; a copy engine brings them.
// The change: wgmma in place of mma.sync and ldmatrix, TMA in place of cp.async; only for sm_90a.
// Why it helps: operands no longer pass through registers, one instruction does 64 x BN x 16, one thread orders a tile.
//
// C (M x N) = A (M x K) times B (K x N), row-major bf16, sums in fp32. GUARD 1: any M, N, K, values are copied one by one;
// GUARD 0: N and K are multiples of 8, as the copy engine wants rows of whole 16 bytes; what lies outside is filled with zeros.
// A block is one warpgroup and computes BM x BN; grid (columns / BN, rows / BM).
// Dynamic shared memory: STAGES of the two tiles, (BM + BN) x BK x 2 bytes each, and a barrier of 8 bytes for each stage.

typedef unsigned short bf16;
typedef unsigned long long u64;

struct alignas(64) TensorMap {
    u64 words[16];
};

#define BK 64  // 128 bytes: the longest row that the swizzle knows
#define SUB (BK * 64)  // values of a part of B: BK deep, 64 wide
#define MI (BM / 64)
#define STAGE (BM * BK + BK * BN)

__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Where a value lies in a tile with rows of 64: eight rows put the same 16 bytes into eight different groups of banks.
__device__ __forceinline__ int swizzled(int row, int at) { return row * 64 + ((at / 8 ^ row % 8) * 8 + at % 8); }

// A barrier that completes a phase when `arrivals` have come and all bytes that were announced.
__device__ __forceinline__ void create(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Wait for the end of the phase of this parity.
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    unsigned done;
    do {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}

// Send for a box of an array that starts at column x and row y.
__device__ __forceinline__ void fetch(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

// What a warpgroup's product is told of a tile with rows of 128 bytes, swizzled: its address and, in 16 bytes, the way from one
// eight rows to the next (bits 32 on) and, for B alone, from 64 columns to the next (bits 16 on).
__device__ __forceinline__ u64 descriptor(unsigned address, int next) {
    return u64((address & 0x3FFFF) >> 4) | u64(next >> 4) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}

#define F4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F8(d, i) F4(d, i), F4(d, i + 4)
#define F32(d, i) F8(d, i), F8(d, i + 8), F8(d, i + 16), F8(d, i + 24)

// D (64 x BN, fp32) = A (64 x 16) times B (16 x BN), and the D before it where there is `more`.
__device__ __forceinline__ void multiply(float (&d)[BN / 2], u64 a, u64 b, int more) {
#if BN == 256
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, p, 1, 1, 0, 1;\n}"
                 : F32(d, 0), F32(d, 32), F32(d, 64), F32(d, 96)
                 : "l"(a), "l"(b), "r"(more));
#else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, %64, %65, p, 1, 1, 0, 1;\n}"
                 : F32(d, 0), F32(d, 32)
                 : "l"(a), "l"(b), "r"(more));
#endif
}
__device__ __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Wait until all but the newest PENDING commits are done.
template <int PENDING>
__device__ __forceinline__ void finish() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ unsigned pair(float first, float second) {
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}
// Two neighbours of a row of C, rounded to bf16; `inside` of them lie in the matrix.
__device__ __forceinline__ void store(bf16* p, float first, float second, int inside) {
    const unsigned both = pair(first, second);
#if GUARD
    if (inside > 0) p[0] = bf16(both);
    if (inside > 1) p[1] = bf16(both >> 16);
#else
    if (inside > 0) *reinterpret_cast<unsigned*>(p) = both;
#endif
}

#if GUARD
// Copy the tiles of one step value by value to where the copy engine would put them.
__device__ __forceinline__ void fill(bf16* a, bf16* b, const bf16* A, const bf16* B, int row0, int col0, int step, int M, int N,
                                     int K) {
    for (int i = threadIdx.x; i < BM * BK; i += 128) {
        const int row = row0 + i / BK, at = step + i % BK;
        a[swizzled(i / BK, i % BK)] = row < M && at < K ? A[(long long)row * K + at] : 0;
    }
    for (int i = threadIdx.x; i < BK * BN; i += 128) {
        const int row = step + i / BN, col = col0 + i % BN;
        b[i % BN / 64 * SUB + swizzled(i / BN, i % 64)] = row < K && col < N ? B[(long long)row * N + col] : 0;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the tensor cores read through another way than was written
}
#endif

#if GUARD
extern "C" __global__ void __launch_bounds__(128) wgmma_warpgroup(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
#else
extern "C" __global__ void __launch_bounds__(128)
    wgmma_warpgroup(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, bf16* C, int M, int N, int K) {
#endif
    extern __shared__ __align__(1024) bf16 memory[];
    const unsigned full = address(memory + STAGES * STAGE);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, steps = (K + BK - 1) / BK;

    const auto send = [&](int step) {
        bf16* a = memory + step % STAGES * STAGE;
#if GUARD
        fill(a, a + BM * BK, A, B, row0, col0, step * BK, M, N, K);
#else
        if (threadIdx.x == 0) {
            const unsigned barrier = full + step % STAGES * 8;
            expect(barrier, STAGE * 2);
            fetch(address(a), A, step * BK, row0, barrier);
            for (int j = 0; j < BN / 64; ++j) fetch(address(a + BM * BK + j * SUB), B, col0 + j * 64, step * BK, barrier);
        }
#endif
    };

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) create(full + stage * 8, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // the copy engine sees them
    }
    __syncthreads();
    for (int step = 0; step < STAGES - 1 && step < steps; ++step) send(step);

    float sum[MI][BN / 2];
    for (int step = 0; step < steps; ++step) {
        if (step + STAGES - 1 < steps) send(step + STAGES - 1);
#if GUARD
        __syncthreads();
#else
        wait(full + step % STAGES * 8, step / STAGES % 2);
#endif
        const unsigned a = address(memory + step % STAGES * STAGE), b = a + BM * BK * 2;
        begin();
#pragma unroll
        for (int k = 0; k < BK; k += 16)
#pragma unroll
            for (int i = 0; i < MI; ++i)
                multiply(sum[i], descriptor(a + (i * 64 * BK + k) * 2, 16), descriptor(b + k * 128, SUB * 2), step + k > 0);
        commit();
        finish<0>();
        __syncthreads();  // everybody is done with this stage, which is filled next
    }

#pragma unroll
    for (int i = 0; i < MI; ++i)
#pragma unroll
        for (int j = 0; j < BN / 4; ++j) {
            const int row = row0 + i * 64 + warp * 16 + j % 2 * 8 + lane / 4, col = col0 + j / 2 * 8 + lane % 4 * 2;
            store(C + (long long)row * N + col, sum[i][j * 2], sum[i][j * 2 + 1], row < M ? N - col : 0);
        }
}
