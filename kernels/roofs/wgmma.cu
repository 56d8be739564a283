// wgmma probe: the math roof of the tensor cores as warpgroups reach them, bf16 in and fp32 sums; only for sm_90a.
// Two warpgroups a block hold 64 x 256 sums each in registers and multiply tiles in shared memory over and over, as the inner
// loop of a product does; device memory is touched before and after only. A product of 64 x 256 x 16 reads 10 KiB in 128 clocks at
// the full rate: shared memory gives 16.
// A round is four products of depth 16: A B, A' B, A B, A' B, where A' is -A but for a 1 more at column (row % 16). All values are
// whole numbers that bf16 holds exactly, and all sums stay below 2^24: after `rounds` rounds, row r of the result is 2 x rounds x
// row (r % 16) of B, to the bit. FLOP of a launch: 2 x 64 x 256 x 64 x rounds x warpgroups. `when` has three numbers a warp: its
// SM, and the SM's clock before and after.

typedef unsigned short bf16;
typedef unsigned long long u64;

#define BN 256
#define DEEP 64  // values in the 128 bytes of a swizzled row
#define SUB (DEEP * 64)  // values of a part of B: DEEP deep, 64 wide

__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Where a value lies in a tile with rows of 64: eight rows put the same 16 bytes into eight different groups of banks.
__device__ __forceinline__ int swizzled(int row, int at) { return row * 64 + ((at / 8 ^ row % 8) * 8 + at % 8); }

// What a product is told of a tile with rows of 128 bytes, swizzled: its address and, in 16 bytes, the way from one eight rows to
// the next (bits 32 on) and, for B alone, from 64 columns to the next (bits 16 on).
__device__ __forceinline__ u64 descriptor(unsigned address, int next) {
    return u64((address & 0x3FFFF) >> 4) | u64(next >> 4) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}

#define F4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F8(d, i) F4(d, i), F4(d, i + 4)
#define F32(d, i) F8(d, i), F8(d, i + 8), F8(d, i + 16), F8(d, i + 24)

// D (64 x 256, fp32) += A (64 x 16) times B (16 x 256).
__device__ __forceinline__ void multiply(float (&d)[BN / 2], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
                 "}, %128, %129, 1, 1, 1, 0, 1;"
                 : F32(d, 0), F32(d, 32), F32(d, 64), F32(d, 96)
                 : "l"(a), "l"(b));
}

// A is 64 rows of 16, A' as much behind it, B 16 rows of 256, out 64 rows of 256 for each warpgroup; all row-major.
extern "C" __global__ void __launch_bounds__(THREADS, 1) probe_wgmma(const bf16* A, const bf16* B, float* out, long long* when,
                                                                    int rounds) {
    __shared__ __align__(1024) bf16 a[64 * DEEP], b[BN / 64 * SUB];
    for (int i = threadIdx.x; i < 64 * DEEP; i += THREADS)
        a[swizzled(i / DEEP, i % DEEP)] = A[(i % DEEP / 16 % 2 * 64 + i / DEEP) * 16 + i % 16];
    for (int i = threadIdx.x; i < DEEP * BN; i += THREADS)
        b[i % BN / 64 * SUB + swizzled(i / BN, i % 64)] = B[i / BN % 16 * BN + i % BN];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // the tensor cores read through another way than was written
    const u64 left = descriptor(address(a), 16), right = descriptor(address(b), SUB * 2);

    float sum[BN / 2] = {};
    __syncthreads();
    const long long begin = clock64();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < DEEP; k += 16) multiply(sum, left + k * 2 / 16, right + k * 128 / 16);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    const long long end = clock64();

    const int lane = threadIdx.x % 32;
    const long long warp = (blockIdx.x * (long long)THREADS + threadIdx.x) / 32;
    out += warp / 4 * (64 * BN);
#pragma unroll
    for (int j = 0; j < BN / 2; ++j)
        out[(warp % 4 * 16 + j % 4 / 2 * 8 + lane / 4) * BN + j / 4 * 8 + lane % 4 * 2 + j % 2] = sum[j];
    if (lane == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        when[warp * 3] = sm;
        when[warp * 3 + 1] = begin;
        when[warp * 3 + 2] = end;
    }
}
