// FMA probe: the math roof.
// Every thread runs eight independent chains of fused multiply-adds in registers and touches memory once, at the end. Eight chains
// hide the four-cycle latency of an FMA; the chains start apart and the factor keeps them bounded, so that nothing can be folded.
// FLOP of a launch: 2 x 8 x UNROLL x rounds x threads.

extern "C" __global__ void __launch_bounds__(256) probe_fma(float* out, float factor, int rounds) {
    const float offset = 0.5f * factor;
    float chain[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) chain[i] = threadIdx.x + i;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int i = 0; i < 8; ++i) chain[i] = __fmaf_rn(chain[i], factor, offset);
    }
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += chain[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
