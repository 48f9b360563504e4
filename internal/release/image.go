package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"maps"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who the program is in the image: nobody of the host's.
const user = "65532:65532"

// layout collects the blobs of an image by their digests.
type layout struct {
	entries []entry
	known   map[digest.Digest]bool
}

func (l *layout) add(mediaType string, data []byte) oci.Descriptor {
	d := oci.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	if !l.known[d.Digest] {
		l.known[d.Digest] = true
		l.entries = append(l.entries, entry{blob(d), 0o644, data})
	}
	return d
}

func (l *layout) addJSON(mediaType string, v any) (oci.Descriptor, error) {
	data, err := json.Marshal(v)
	return l.add(mediaType, data), err
}

// blob is where a blob lies in an OCI layout.
func blob(d oci.Descriptor) string {
	return oci.ImageBlobsDir + "/" + d.Digest.Algorithm().String() + "/" + d.Digest.Encoded()
}

// loadable is an image as older Docker engines find it in an archive. They know nothing of
// platforms, and load all.
type loadable struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// image makes an archive that is two things at once, as docker save makes them: an OCI layout with one
// index for all processors, and what docker load of any engine takes. An engine without the
// containerd store gets one image a processor; the plain tag is amd64's there.
func image(id identity, programs []program, c contents) (string, []byte, error) {
	l := &layout{known: map[digest.Digest]bool{}}
	tag := name + ":" + imageTag(id.version)
	named, err := reference.ParseNormalizedNamed(tag)
	if err != nil {
		return "", nil, err
	}
	about := annotations(id)
	index := oci.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex, Annotations: about}
	var old []loadable
	for _, p := range programs {
		if p.os != "linux" {
			continue
		}
		manifest, config, err := l.addImage(id, p, c)
		if err != nil {
			return "", nil, err
		}
		d, err := l.addJSON(oci.MediaTypeImageManifest, manifest)
		if err != nil {
			return "", nil, err
		}
		d.Platform = &config.Platform
		index.Manifests = append(index.Manifests, d)
		o := loadable{Config: blob(manifest.Config), RepoTags: []string{tag + "-" + p.arch}, Layers: []string{blob(manifest.Layers[0])}}
		if p.arch == "amd64" {
			o.RepoTags = append(o.RepoTags, tag)
		}
		old = append(old, o)
	}
	d, err := l.addJSON(oci.MediaTypeImageIndex, index)
	if err != nil {
		return "", nil, err
	}
	// The first is what engines call it, in full, the second what other tools choose by.
	d.Annotations = map[string]string{"io.containerd.image.name": named.String(), oci.AnnotationRefName: imageTag(id.version)}
	top := oci.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex, Manifests: []oci.Descriptor{d}}
	for file, v := range map[string]any{
		oci.ImageLayoutFile: oci.ImageLayout{Version: oci.ImageLayoutVersion}, oci.ImageIndexFile: top, "manifest.json": old,
	} {
		data, err := json.Marshal(v)
		if err != nil {
			return "", nil, err
		}
		l.entries = append(l.entries, entry{file, 0o644, data})
	}
	data, err := tarball(l.entries, id.when, "")
	return fmt.Sprintf("%s_%s_image.tar", name, id.version), data, err
}

// addImage adds the image of one program: its layer and its configuration.
func (l *layout) addImage(id identity, p program, c contents) (oci.Manifest, oci.Image, error) {
	files, err := tarball(rootfs(p, c), id.when, "")
	if err != nil {
		return oci.Manifest{}, oci.Image{}, err
	}
	packed, err := gzipped(files)
	if err != nil {
		return oci.Manifest{}, oci.Image{}, err
	}
	layer := l.add(oci.MediaTypeImageLayerGzip, packed)
	labels := annotations(id)
	config := oci.Image{
		Created:  &id.when,
		Platform: oci.Platform{Architecture: p.arch, OS: p.os},
		Config: oci.ImageConfig{
			User: user, Env: []string{"PATH=/usr/bin", "HOME=/home/" + account}, WorkingDir: "/work",
			Entrypoint: []string{"/usr/bin/" + name}, Cmd: []string{"--help"}, Labels: labels,
		},
		RootFS:  oci.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(files)}},
		History: []oci.History{{Created: &id.when, CreatedBy: "make release", Comment: name + " " + id.version}},
	}
	d, err := l.addJSON(oci.MediaTypeImageConfig, config)
	return oci.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageManifest,
		Config: d, Layers: []oci.Descriptor{layer}, Annotations: maps.Clone(labels),
	}, config, err
}

func annotations(id identity) map[string]string {
	a := map[string]string{
		oci.AnnotationTitle: name, oci.AnnotationVersion: id.version, oci.AnnotationSource: "https://" + modulePath, oci.AnnotationLicenses: "Apache-2.0",
	}
	if id.revision != "" {
		a[oci.AnnotationRevision] = id.revision
	}
	return a
}

// account is the user's name in the image.
const account = "hermes"

// rootfs is all files of the image. Everybody may write to the home and the working directory: with
// --user the program is somebody whom the image does not know, and it is alone there.
func rootfs(p program, c contents) []entry {
	doc := "usr/share/doc/" + name + "/"
	return []entry{
		{"etc/group", 0o644, []byte("root:x:0:\n" + account + ":x:65532:\n")},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\n" + account + ":x:65532:65532:" + account + ":/home/" + account + ":/sbin/nologin\n")},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
		{"home/" + account + "/", 0o777 | fs.ModeSticky, nil},
		{"tmp/", 0o777 | fs.ModeSticky, nil},
		{"usr/bin/" + name, 0o755, p.data},
		{doc + "LICENSE", 0o644, c.license},
		{doc + "NOTICES", 0o644, c.notices},
		{"var/tmp/", 0o777 | fs.ModeSticky, nil},
		{"work/", 0o777 | fs.ModeSticky, nil},
	}
}

// certificates are the roots that Mozilla trusts, from a module and not from this machine. A root that
// is to be trusted under conditions only is left out: a file of certificates cannot tell them.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}
