package imageref_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/example-inc/memcached-operator/internal/imageref"
)

var (
	sha256 = "sha256:" + strings.Repeat("0a", 32)
	sha384 = "sha384:" + strings.Repeat("0a", 48)
	sha512 = "sha512:" + strings.Repeat("0a", 64)
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		image string
		want  string // Part of the error; nothing when the image is fine.
	}{
		"NoTag":           {image: "memcached"},
		"Tag":             {image: "nginx:latest"},
		"PortAndNoTag":    {image: "localhost:5000/app"},
		"IPv6":            {image: "[::1]:5000/team/app:v1"},
		"Path":            {image: "ghcr.io/org/team/my__app:V1"},
		"SHA256":          {image: "memcached:1.6@" + sha256},
		"SHA384":          {image: "memcached@" + sha384},
		"SHA512":          {image: "memcached@" + sha512},
		"Empty":           {image: "", want: "an image reference is needed, such as "},
		"TooLong":         {image: strings.Repeat("a", 2000), want: "has 2000 characters, more than 1024"},
		"UpperCase":       {image: "Memcached", want: `"Memcached" is not an image reference: invalid reference format: repository name`},
		"Space":           {image: "memcached 1.6", want: `"memcached 1.6" is not an image reference`},
		"LineBreak":       {image: "memcached\n", want: `"memcached\n" is not an image reference`},
		"ImageID":         {image: strings.Repeat("a", 64), want: "cannot specify 64-byte hexadecimal strings"},
		"ShortDigest":     {image: "memcached@sha256:0a", want: "is not an image reference"},
		"UnknownDigest":   {image: "memcached@md5:" + strings.Repeat("0a", 16), want: "unsupported digest algorithm"},
		"UpperCaseDigest": {image: "memcached@sha256:" + strings.Repeat("0A", 32), want: "is not an image reference"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := imageref.Check(tc.image)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("Check(%q) = %v, want no error", tc.image, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("Check(%q) = %v, want an error with %q", tc.image, err, tc.want)
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Errorf("Check(%q) says more than one line: %v", tc.image, err)
			}
		})
	}
}

// kubebuilder#5977: images without a tag panicked, ports, digests and "_dev" became invalid labels.
func TestVersion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ image, want string }{
		"Tag":             {image: "memcached:1.6.39-alpine", want: "1.6.39-alpine"},
		"UpperCaseTag":    {image: "org/app:V1", want: "V1"},
		"TagAndDigest":    {image: "memcached:1.6@" + sha256, want: "1.6"},
		"NoTag":           {image: "memcached"},
		"PortAndNoTag":    {image: "localhost:5000/app"},
		"PortAndTag":      {image: "localhost:5000/app:v1", want: "v1"},
		"IPv6AndNoTag":    {image: "[::1]:5000/app"},
		"Digest":          {image: "memcached@" + sha256},
		"SHA512":          {image: "memcached:1@" + sha512, want: "1"},
		"BeginsWithUnder": {image: "memcached:_dev"},
		"EndsWithDash":    {image: "memcached:dev-"},
		"LongTag":         {image: "memcached:" + strings.Repeat("a", 64)},
		"LongestTag":      {image: "memcached:" + strings.Repeat("a", 63), want: strings.Repeat("a", 63)},
		"Nonsense":        {image: "::@@//"},
		"Empty":           {image: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := imageref.Version(tc.image); got != tc.want {
				t.Errorf("Version(%q) = %q, want %q", tc.image, got, tc.want)
			}
		})
	}
}

func FuzzVersion(f *testing.F) {
	for _, seed := range []string{"", "memcached", "localhost:5000/app", "memcached:_dev", "memcached@" + sha256, "a:b@" + sha384} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, image string) {
		version := imageref.Version(image)
		if wrong := validation.IsValidLabelValue(version); len(wrong) > 0 {
			t.Errorf("Version(%q) = %q: %v", image, version, wrong)
		}
		if version != "" && !strings.Contains(image, ":"+version) {
			t.Errorf("Version(%q) = %q, which is not its tag", image, version)
		}
		if err := imageref.Check(image); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("Check(%q) says more than one line: %v", image, err)
		}
	})
}
