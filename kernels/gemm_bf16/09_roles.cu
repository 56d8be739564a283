// Roles: one warpgroup only orders tiles, the others only multiply, each at its own pace.
// The change: a producer and CONSUMERS consumers, which meet at two barriers for each stage; the producer gives registers away.
// Why it helps: nobody waits for everybody; copies run ahead as far as there are stages.
//
// C (M x N) = A (M x K) times B (K x N), row-major bf16, sums in fp32. GUARD 1: any M, N, K, values are copied one by one;
// GUARD 0: N and K are multiples of 8, as the copy engine wants rows of whole 16 bytes; what lies outside is filled with zeros.
// A block of 1 + CONSUMERS warpgroups computes BM x BN; grid (any multiple of CLUSTER): a block takes tile after tile.
// Dynamic shared memory: STAGES of the two tiles, (BM + BN) x BK x 2 bytes each; BOXES x 8 KiB for each consumer; 16 bytes for
// each stage.
//
// Three more rungs are this source with other constants:
// 10, a grid of as many blocks as there are SMs and GROUP rows of tiles that go together: the next tile's copies overlap the
//     end of the one before, and what runs at the same time shares its rows and columns in L2.
// 11, BOXES: results leave through shared memory as whole boxes by the copy engine, while the next tile is multiplied.
// 12, CLUSTER 2: two blocks below each other need the same tile of B; each fetches half of it for both.

typedef unsigned short bf16;
typedef unsigned long long u64;

struct alignas(64) TensorMap {
    u64 words[16];
};

#define BK 64  // 128 bytes: the longest row that the swizzle knows
#define SUB (BK * 64)  // values of a part of B: BK deep, 64 wide
#if GUARD  // odd sizes are verified, not timed: no cluster, no boxes
#undef CLUSTER
#undef BOXES
#define CLUSTER 1
#define BOXES 0
#endif
#define WM (BM / CONSUMERS)
#define MI (WM / 64)
#define STAGE (BM * BK + BK * BN)
#define BOX (64 * 64)
#define EACH (BN / 64 / CLUSTER)  // parts of B that a block fetches
#define WARPS (CONSUMERS * 4)

#if RUNG == 9  // under other names, so that a profiler tells the rungs apart
#define ENTRY wgmma_roles
#elif RUNG == 10
#define ENTRY wgmma_persistent
#elif RUNG == 11
#define ENTRY wgmma_stores
#else
#define ENTRY wgmma_clusters
#endif

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
// Arrive at the barrier of a block of the cluster that lies where `barrier` lies in this one. Relaxed, since the tiles were only
// read, by products that are done: a release at the scope of the cluster would make every warp wait for all of its memory.
__device__ __forceinline__ void arrive_at(unsigned barrier, unsigned block) {
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
                 "r"(block)
                 : "memory");
}
__device__ __forceinline__ void meet() {
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
#else
    __syncthreads();
#endif
}

// Send for a box of an array that starts at column x and row y.
__device__ __forceinline__ void fetch(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}
// The same for every block of the cluster, to the same place, announced at the same barrier of each.
__device__ __forceinline__ void fetch_for_all(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
#if CLUSTER > 1
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)((1 << CLUSTER) - 1))
                 : "memory");
#else
    fetch(to, map, x, y, barrier);
#endif
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

#if BOXES
// The consumer's 128 threads wait for each other.
__device__ __forceinline__ void meet_consumer(int consumer) {
    asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
}

// Round 64 x BN sums and send them off box by box, each 64 wide; a box's room is used again when it has been read.
__device__ __forceinline__ void send_off(const float (&sum)[BN / 2], bf16* boxes, const TensorMap& C, int row0, int col0,
                                         int consumer, int& sent) {
    const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16, first = threadIdx.x % 128 == 0;
#pragma unroll
    for (int j = 0; j < BN / 64; ++j) {
        bf16* box = boxes + sent % BOXES * BOX;
        if (first) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(BOXES - 1) : "memory");
        meet_consumer(consumer);
#pragma unroll
        for (int piece = 0; piece < 8; piece += 2) {
            const float* d = &sum[(j * 8 + piece) * 4];
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                             address(box + swizzled(row, (piece + lane / 16) * 8))),
                         "r"(pair(d[0], d[1])), "r"(pair(d[2], d[3])), "r"(pair(d[4], d[5])), "r"(pair(d[6], d[7]))
                         : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        meet_consumer(consumer);
        if (first) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&C),
                         "r"(col0 + j * 64), "r"(row0), "r"(address(box))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
        ++sent;
    }
}
#endif

extern "C" __global__ void
#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__launch_bounds__(128 + CONSUMERS * 128, 1)
#if GUARD
ENTRY(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
#elif BOXES
ENTRY(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C, int M,
      int N, int K) {
#else
ENTRY(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, bf16* C, int M, int N, int K) {
#endif
    extern __shared__ __align__(1024) bf16 memory[];
    const unsigned full = address(memory + STAGES * STAGE + CONSUMERS * BOXES * BOX), empty = full + STAGES * 8;
    const int rank = blockIdx.x % CLUSTER, role = threadIdx.x / 128;
    const int steps = (K + BK - 1) / BK, across = (N + BN - 1) / BN, down = (M + BM * CLUSTER - 1) / (BM * CLUSTER);

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            create(full + stage * 8, GUARD ? 128 : 1);
            create(empty + stage * 8, WARPS * CLUSTER);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet();

    int stage = 0;
    unsigned parity = 0;
    const auto advance = [&] {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    };
    // the tiles of GROUP rows, those of a cluster counted as one, go column by column
    const auto place = [&](int order, int& row0, int& col0) {
        const int first = order / (GROUP * across) * GROUP, rows = min(GROUP, down - first), at = order - first * across;
        row0 = ((first + at % rows) * CLUSTER + rank) * BM;
        col0 = at / rows * BN;
    };

    if (role == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#if !GUARD
        if (threadIdx.x == 0)
#endif
            for (int order = blockIdx.x / CLUSTER; order < across * down; order += gridDim.x / CLUSTER) {
                int row0, col0;
                place(order, row0, col0);
                for (int step = 0; step < steps; ++step, advance()) {
                    bf16* a = memory + stage * STAGE;
                    wait(empty + stage * 8, parity ^ 1);
                    const unsigned barrier = full + stage * 8;
#if GUARD
                    fill(a, a + BM * BK, A, B, row0, col0, step * BK, M, N, K);
                    arrive(barrier);
#else
                    expect(barrier, STAGE * 2);
                    fetch(address(a), A, step * BK, row0, barrier);
#pragma unroll
                    for (int j = rank * EACH; j < rank * EACH + EACH; ++j)
                        fetch_for_all(address(a + BM * BK + j * SUB), B, col0 + j * 64, step * BK, barrier);
#endif
                }
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int consumer = role - 1, lane = threadIdx.x % 32;
        const auto release = [&](int which) {
#if CLUSTER > 1
            if (lane < CLUSTER) arrive_at(empty + which * 8, lane);
#else
            if (lane == 0) arrive(empty + which * 8);
#endif
        };
        float sum[MI][BN / 2];
#if BOXES
        int sent = 0;
#endif
        for (int order = blockIdx.x / CLUSTER; order < across * down; order += gridDim.x / CLUSTER) {
            int row0, col0, before = 0;
            place(order, row0, col0);
            for (int step = 0; step < steps; ++step, advance()) {
                wait(full + stage * 8, parity);
                const unsigned tiles = address(memory + stage * STAGE);
                const unsigned a = tiles + consumer * WM * BK * 2, b = tiles + BM * BK * 2;
                begin();
#pragma unroll
                for (int k = 0; k < BK; k += 16)
#pragma unroll
                    for (int i = 0; i < MI; ++i)
                        multiply(sum[i], descriptor(a + (i * 64 * BK + k) * 2, 16), descriptor(b + k * 128, SUB * 2),
                                 step + k > 0);
                commit();
                finish<1>();
                if (step > 0) release(before);
                before = stage;
            }
            finish<0>();
            release(before);
            row0 += consumer * WM;
#if BOXES
#pragma unroll
            for (int i = 0; i < MI; ++i)
                send_off(sum[i], memory + STAGES * STAGE + consumer * BOXES * BOX, C, row0 + i * 64, col0, consumer, sent);
#else
#pragma unroll
            for (int i = 0; i < MI; ++i)
#pragma unroll
                for (int j = 0; j < BN / 4; ++j) {
                    const int row = row0 + i * 64 + threadIdx.x % 128 / 32 * 16 + j % 2 * 8 + lane / 4;
                    const int col = col0 + j / 2 * 8 + lane % 4 * 2;
                    store(C + (long long)row * N + col, sum[i][j * 2], sum[i][j * 2 + 1], row < M ? N - col : 0);
                }
#endif
        }
#if BOXES
        if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
    }
#if CLUSTER > 1
    __syncwarp();
    meet();  // nobody leaves while another block may still arrive at its barriers
#endif
}
