// Gate: holds a stream until the host stores `ticket`, so that everything behind it is in the queue before any of it runs. Without
// it, the time of a small all-reduce would be the time that the host takes to launch one on every GPU.

extern "C" __global__ void gate(const unsigned* open, unsigned ticket, unsigned* failed, unsigned long long patience) {
    wait_for(open, ticket, failed, patience);
}
