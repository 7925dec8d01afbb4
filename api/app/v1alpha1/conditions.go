package v1alpha1

// ConditionReady is True when as many up-to-date pods are available as spec.replicas asks for.
// Its reasons, and the conditions Progressing and Degraded, are those of package workload.
const ConditionReady = "Ready"

// Finalizer holds a MyApp back until its pods are gone or given up.
const Finalizer = "app.example.com/finalizer"
