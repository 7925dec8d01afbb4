// Package imageref reads image references.
package imageref

import (
	_ "crypto/sha512" // Makes sha384 and sha512 digests known to the parser.
	"errors"
	"fmt"
	"strings"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxLength is that of the schema's image fields.
const maxLength = 1024

// Check tells in one line what is wrong with image, or returns nil.
// It accepts what the definitions of the custom resources accept in their image fields.
func Check(image string) error {
	if image == "" {
		return errors.New("an image reference is needed, such as registry.example.com:5000/team/app:v1.2")
	}
	if len(image) > maxLength {
		return fmt.Errorf("the image reference %.40q… has %d characters, more than %d", image, len(image), maxLength)
	}
	if strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%q is not an image reference: it has a character that is not printable ASCII", image)
	}
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return fmt.Errorf("%q is not an image reference: %w", image, err)
	}
	return nil
}

// Version is the value of the label app.kubernetes.io/version for pods that run image:
// its tag, or nothing when it has none, or one that cannot be the value of a label.
func Version(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	tagged, ok := named.(reference.Tagged)
	if !ok || len(validation.IsValidLabelValue(tagged.Tag())) > 0 {
		return ""
	}
	return tagged.Tag()
}
