package nodeimage

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/example-inc/memcached-operator/harness/binaries"
)

// files go into the image as they are.
//
//go:embed files
var files embed.FS

// recipe is everything else that says what the image consists of, but for the pinned programs and packages.
//
//go:embed files source base.go kindfiles.go images.go
var recipe embed.FS

// key tells the image from those of other pins or another recipe. It is made from what is asked for, not from what came
// of it, so that it costs nothing.
func key() string {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.GOARCH, binaries.Fingerprint(programs()...))
	request, err := json.Marshal(rootFileSystem())
	if err == nil {
		_, err = sum.Write(request)
	}
	if err == nil {
		err = fs.WalkDir(recipe, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := recipe.ReadFile(path)
			fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
			return err
		})
	}
	if err != nil { // Cannot happen: the files are part of this package.
		panic(err)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// embedded is a file that goes into the image as it is.
func embedded(path string) []byte {
	data, err := files.ReadFile("files/" + path)
	if err != nil { // Cannot happen: the file is part of this package.
		panic(err)
	}
	return data
}
