// Index: every thread computes which element is its own and writes that number there; the guard keeps the last block's tail out.
// The buffer has room for every thread and is filled with -1 before, so that a missing guard would show.

extern "C" __global__ void trace_index(int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i;
}
