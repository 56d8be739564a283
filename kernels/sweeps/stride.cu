// Stride: a kernel that only reads. Lane by lane the elements offset, offset + stride, offset + 2 stride, ... of an array of 32-bit
// words far larger than L2, every one once; with stride 1 a warp's 32 words lie side by side. Nothing but one sum a thread is
// written, neighbours side by side, so that no store is measured; addresses go on by addition, so that no division is.
// The sums are of unsigned integers, which wrap without rounding: they prove to the bit that these elements were read.
// Useful bytes: 4 x count.

extern "C" __global__ void __launch_bounds__(256, 8) read_strided(const unsigned* data, unsigned* sums, unsigned long long count,
                                                               unsigned stride, unsigned offset) {
    const unsigned long long thread = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    const unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    const unsigned long long step = threads * stride;
    const unsigned* at = data + offset + thread * stride;
    unsigned long long i = thread;
    unsigned sum = 0;
    for (; i + (UNROLL - 1) * threads < count; i += UNROLL * threads, at += UNROLL * step) {
        unsigned v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) v[u] = at[u * step];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum += v[u];
    }
    for (; i < count; i += threads, at += step) sum += *at;
    sums[thread] = sum;
}
