// Divergence: when each lane of one warp runs its side of an `if`.
// Lanes below `split` take one side, the others the other; both sides are chains of `work` dependent multiply-adds. A lane reads its
// SM's cycle counter as it enters and as it leaves its side. With split = 32 all lanes take the first side: the same work, undivided.

extern "C" __global__ void __launch_bounds__(32) trace_divergence(float* x, int split, int work, long long* before, long long* start,
                                                                  long long* end) {
    const int lane = threadIdx.x;
    float value = x[lane];
    long long entered, left;
    __syncwarp();
    const long long zero = clock64();
    if (lane < split) {
        entered = clock64();
        for (int w = 0; w < work; ++w) value = __fmaf_rn(value, 0.999f, 0.5f);
        x[lane] = value;
        left = clock64();
    } else {
        entered = clock64();
        for (int w = 0; w < work; ++w) value = __fmaf_rn(value, 0.998f, -0.5f);
        x[lane] = value;
        left = clock64();
    }
    before[lane] = zero;
    start[lane] = entered;
    end[lane] = left;
}
