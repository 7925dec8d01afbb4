package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer makes a layer of the tar archive that open yields, the same each time.
func (img Image) layer(open func() (io.ReadCloser, error)) (v1.Layer, error) {
	if img.Compress {
		return tarball.LayerFromOpener(open)
	}
	archive, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }()
	digest, size, err := v1.SHA256(archive)
	if err != nil {
		return nil, err
	}
	return &plainLayer{open: open, digest: digest, size: size}, nil
}

// plainLayer is a layer that is not compressed, which the library has none for: engines unpack it at once anyway, and its
// digest does not hang on a compressor's version.
type plainLayer struct {
	open   func() (io.ReadCloser, error)
	digest v1.Hash
	size   int64
}

var _ v1.Layer = (*plainLayer)(nil)

// Digest implements v1.Layer.
func (l *plainLayer) Digest() (v1.Hash, error) { return l.digest, nil }

// DiffID implements v1.Layer.
func (l *plainLayer) DiffID() (v1.Hash, error) { return l.digest, nil }

// Compressed implements v1.Layer.
func (l *plainLayer) Compressed() (io.ReadCloser, error) { return l.open() }

// Uncompressed implements v1.Layer.
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return l.open() }

// Size implements v1.Layer.
func (l *plainLayer) Size() (int64, error) { return l.size, nil }

// MediaType implements v1.Layer.
func (l *plainLayer) MediaType() (types.MediaType, error) { return types.DockerUncompressedLayer, nil }

// stream writes entries as a tar archive while it is read.
func stream(entries []entry) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() {
		archive := tar.NewWriter(writer)
		for _, e := range entries {
			if err := e.write(archive); err != nil {
				_ = writer.CloseWithError(fmt.Errorf("adding /%s: %w", e.name, err))
				return
			}
		}
		_ = writer.CloseWithError(archive.Close())
	}()
	return reader
}

// write adds the entry to an archive. There is nothing in it that differs between machines or days.
func (e entry) write(archive *tar.Writer) error {
	header := &tar.Header{Name: e.name, Mode: permissions(e.mode), Typeflag: tar.TypeReg}
	switch {
	case e.mode.IsDir():
		header.Name, header.Typeflag = e.name+"/", tar.TypeDir
		return archive.WriteHeader(header)
	case e.Link != "":
		header.Linkname, header.Typeflag, header.Mode = e.Link, tar.TypeSymlink, 0o777
		return archive.WriteHeader(header)
	case e.Source == "":
		header.Size = int64(len(e.Data))
		return errors.Join(archive.WriteHeader(header), copyAll(archive, bytes.NewReader(e.Data)))
	}
	file, err := os.Open(e.Source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	return copyAll(archive, file)
}

func copyAll(to io.Writer, from io.Reader) error {
	_, err := io.Copy(to, from)
	return err
}

// permissions are mode's as tar has them.
func permissions(mode fs.FileMode) int64 {
	bits := int64(mode.Perm())
	for flag, bit := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	return bits
}
