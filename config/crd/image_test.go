package crd_test

import (
	"context"
	"strings"
	"testing"

	"github.com/distribution/reference"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"pgregory.net/rapid"

	_ "crypto/sha512" // Makes sha384 and sha512 digests known to the parser.
)

// test is a testing.T or a rapid.T.
type test interface {
	rapid.TB
	Context() context.Context
}

// imageRule is the rule of spec.image as it is shipped, evaluated as the API server evaluates it.
type imageRule struct {
	structural *structuralschema.Structural
	rules      *cel.Validator
}

func newImageRule(tb testing.TB, kind string) *imageRule {
	tb.Helper()
	property := definitions(tb)[kind].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["image"]
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&property, &internal, nil); err != nil {
		tb.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		tb.Fatal(err)
	}
	if len(structural.XValidations) == 0 || structural.ValueValidation.MaxLength == nil {
		tb.Fatal("spec.image has no rules")
	}
	return &imageRule{structural: structural, rules: cel.NewValidator(structural, false, celconfig.PerCallLimit)}
}

// allows tells whether the definition takes image, and if not, why.
func (r *imageRule) allows(tb test, image string) (bool, string) {
	tb.Helper()
	limits := r.structural.ValueValidation
	if length := int64(len([]rune(image))); length < *limits.MinLength || length > *limits.MaxLength {
		return false, "length"
	}
	errs, _ := r.rules.Validate(tb.Context(), nil, r.structural, image, nil, celconfig.RuntimeCELCostBudget)
	if len(errs) == 0 {
		return true, ""
	}
	return false, errs.ToAggregate().Error()
}

// agrees fails when the definition and the parser that container runtimes use are not of one mind on image.
func (r *imageRule) agrees(tb test, image string) {
	tb.Helper()
	_, err := reference.ParseNormalizedNamed(image)
	want := err == nil && int64(len(image)) <= *r.structural.ValueValidation.MaxLength
	if got, why := r.allows(tb, image); got != want {
		tb.Errorf("the definition allows %q: %t (%s); the parser says: %v", image, got, why, err)
	}
}

var digests = map[string]string{
	"sha256": "@sha256:" + strings.Repeat("0a", 32),
	"sha384": "@sha384:" + strings.Repeat("0a", 48),
	"sha512": "@sha512:" + strings.Repeat("0a", 64),
}

// Corner cases by hand, so that they are there in each run; true for those that must be allowed.
var corners = map[string]bool{
	// What MyApp's published pattern refused (runtime-component-operator#333, envoyproxy/gateway#6817).
	"nginx:latest": true, "ghcr.io/org/app:v1": true, "localhost:5000/app:v1": true, "org/app:V1": true, "org/my_app:v1": true,
	"nginx" + digests["sha256"]: true, "nginx:1" + digests["sha384"]: true, "r.example.com/nginx" + digests["sha512"]: true,
	"[::1]:5000/a": true, "[::1]/a": true, "[ABCD]/a": true, "[abcd]/a": false, "[abcd]:80/a": true, "[]/a": false, "[]:5/a": false,
	"Foo/bar": true, "foo/Bar": false, "Foo": false, "a.b": true, "a.b:80": true, "a.b:80/": false, "a_b.c/d": true, "a_b:80/c": false,
	"a__b": true, "a___b": false, "a---b": true, "a..b": false, "a.-b": false, "-a": false, "a-": false, "a-/b": false, "a//b": false,
	"a:": false, "a:_": true, "a:.b": false, "a:-b": false, "a@": false, "a@sha256:": false, "a@sha256:0a": false, "a:b:c": false, "": false,
	"a@SHA256:" + strings.Repeat("0a", 32): false, "a@sha256:" + strings.Repeat("0A", 32): false, "a@md5:" + strings.Repeat("0a", 16): false,
	"a" + digests["sha256"] + "0": false, "a\n": false, " a": false, "é": false, "a:é": false, "localhost": true, "localhost/a": true,
	strings.Repeat("a", 64): false, strings.Repeat("a", 63): true, strings.Repeat("a", 65): true, strings.Repeat("a", 64) + ":b": true,
	strings.Repeat("A", 64) + "/a": true, strings.Repeat("g", 64): true, "a/" + strings.Repeat("a", 64): true,
	strings.Repeat("a", 247): true, strings.Repeat("a", 248): false, "docker.io/" + strings.Repeat("a", 248): false,
	"index.docker.io/" + strings.Repeat("a", 248): false, "quay.io/" + strings.Repeat("a", 255): true, "quay.io/" + strings.Repeat("a", 256): false,
	"a/" + strings.Repeat("b", 253): true, "a/" + strings.Repeat("b", 254): false, "docker.io/a/" + strings.Repeat("b", 253): true,
	"h:1/" + strings.Repeat("b", 255): true, "h:1/" + strings.Repeat("b", 256): false, "localhost/" + strings.Repeat("b", 255): true,
	"localhost/" + strings.Repeat("b", 256) + ":v" + digests["sha256"]: false, "a_b.c/" + strings.Repeat("d", 250): false,
	"a:" + strings.Repeat("b", 128): true, "a:" + strings.Repeat("b", 129): false,
}

func TestImageCorners(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"MyApp", "Memcached"} {
		rule := newImageRule(t, kind)
		for image, want := range corners {
			rule.agrees(t, image)
			if got, why := rule.allows(t, image); got != want {
				t.Errorf("%s: %q is allowed: %t, want %t %s", kind, image, got, want, why)
			}
		}
	}
}

func TestImageRuleAgreesWithTheReferenceParser(t *testing.T) {
	t.Parallel()
	rule := newImageRule(t, "MyApp")
	rapid.Check(t, func(t *rapid.T) {
		rule.agrees(t, images(t))
	})
}

// images are valid references in all their forms, near misses, and both with a few characters changed.
func images(t *rapid.T) string {
	component := `[a-z0-9]{1,4}((\.|_|__|-{1,3}|-\.|___|\.\.)[a-z0-9]{1,3}){0,2}`
	host := rapid.SampledFrom([]string{
		"", "", `localhost/`, `(index\.)?docker\.io/`, `[a-zA-Z0-9]([a-zA-Z0-9-]{0,6}[a-zA-Z0-9])?(\.[a-zA-Z0-9-]{1,4}){0,2}(:[0-9]{0,5})?/`,
		`\[[a-fA-F0-9:g]{0,6}\](:[0-9]{1,5})?/`, `[a-z]{1,3}_[a-z]\.[a-z]{1,3}/`, `[A-Z]{1,3}/`,
	}).Draw(t, "host")
	path := rapid.SampledFrom([]string{component, component + `(/` + component + `){1,3}`, `[a-f0-9]{64}`, `[a-z]{60,66}`, `[a-z]{243,260}`, `([a-z]{1,20}/){11,12}[a-z]{10,30}`}).Draw(t, "path")
	tag := rapid.SampledFrom([]string{"", "", `:[\w][\w.-]{0,8}`, `:[\w.-]{0,3}`, `:[a-z]{126,130}`}).Draw(t, "tag")
	digest := rapid.SampledFrom([]string{
		"", "", "", `@sha256:[a-f0-9]{64}`, `@sha384:[a-f0-9]{96}`, `@sha512:[a-f0-9]{128}`, `@sha(256|384|512):[a-f0-9]{63,65}`,
		`@sha256:[a-fA-F0-9]{64}`, `@(md5|sha1|sha256\+b64|SHA256|blake3):[a-f0-9]{64}`, `@[a-z0-9:]{0,5}`,
	}).Draw(t, "digest")
	image := rapid.StringMatching(host+path+tag+digest).Draw(t, "image")
	for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "mutations") {
		image = mutated(t, image)
	}
	return image
}

// mutated is image with a character deleted, doubled, replaced or put in.
func mutated(t *rapid.T, image string) string {
	if image == "" {
		return image
	}
	at := rapid.IntRange(0, len(image)-1).Draw(t, "at")
	odd := rapid.SampledFrom(strings.Split(`a 0 A Z _ - . / : @ [ ] é  % `+"\n", " ")).Draw(t, "odd")
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		return image[:at] + image[at+1:]
	case 1:
		return image[:at] + image[at:at+1] + image[at:]
	case 2:
		return image[:at] + odd + image[at+1:]
	default:
		return image[:at] + odd + image[at:]
	}
}

func FuzzImageReference(f *testing.F) {
	rule := newImageRule(f, "MyApp")
	for image := range corners {
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image string) {
		rule.agrees(t, strings.ToValidUTF8(image, "")) // JSON carries nothing else.
	})
}
