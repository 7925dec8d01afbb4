// Package conditions makes conditions, and changes them only when they have something new to say.
package conditions

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is the most that the schema of a condition allows.
const maxMessage = 32768

// True is a condition that holds.
func True(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// False is a condition that does not hold.
func False(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// Unknown is a condition that nobody can tell yet.
func Unknown(kind, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

// Next is old with each of now in place, as seen at generation. A transition time moves only when a status flips.
func Next(old []metav1.Condition, generation int64, now ...metav1.Condition) []metav1.Condition {
	next := slices.Clone(old)
	for _, condition := range now {
		condition.ObservedGeneration = generation
		condition.Message = Clip(condition.Message, maxMessage)
		meta.SetStatusCondition(&next, condition)
	}
	return next
}

// Clip is text, or where that has more than limit bytes, its beginning. Messages of the API server repeat what they refuse,
// however long.
func Clip(text string, limit int) string {
	const more = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}
