package v1

// ConditionAvailable is True when as many up-to-date pods are available as spec.size asks for.
// Its reasons, and the conditions Progressing and Degraded, are those of package workload.
const ConditionAvailable = "Available"

// Finalizer holds a Memcached back until its pods are gone or given up.
const Finalizer = "cache.example.com/finalizer"
