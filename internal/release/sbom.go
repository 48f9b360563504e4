package main

import (
	"crypto/sha1" // SPDX demands it for a file, beside SHA-256
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// modulePath is that of hermes-exec.
const modulePath = "github.com/hermes-exec/hermes-exec"

// The parts of SPDX 2.3 that are needed here. The names are those of its JSON schema.
type (
	spdxDocument struct {
		SPDXVersion       string             `json:"spdxVersion"`
		DataLicense       string             `json:"dataLicense"`
		SPDXID            string             `json:"SPDXID"`
		Name              string             `json:"name"`
		DocumentNamespace string             `json:"documentNamespace"`
		CreationInfo      spdxCreation       `json:"creationInfo"`
		Packages          []spdxPackage      `json:"packages"`
		Files             []spdxFile         `json:"files"`
		Relationships     []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		Name             string         `json:"name"`
		SPDXID           string         `json:"SPDXID"`
		VersionInfo      string         `json:"versionInfo"`
		Purpose          string         `json:"primaryPackagePurpose"`
		DownloadLocation string         `json:"downloadLocation"`
		FilesAnalyzed    bool           `json:"filesAnalyzed"`
		Checksums        []spdxChecksum `json:"checksums,omitempty"`
		SourceInfo       string         `json:"sourceInfo,omitempty"`
		LicenseConcluded string         `json:"licenseConcluded"`
		LicenseDeclared  string         `json:"licenseDeclared"`
		CopyrightText    string         `json:"copyrightText"`
		ExternalRefs     []spdxRef      `json:"externalRefs"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxFile struct {
		FileName         string         `json:"fileName"`
		SPDXID           string         `json:"SPDXID"`
		Checksums        []spdxChecksum `json:"checksums"`
		FileTypes        []string       `json:"fileTypes"`
		LicenseConcluded string         `json:"licenseConcluded"`
		CopyrightText    string         `json:"copyrightText"`
		Comment          string         `json:"comment,omitempty"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

// bill lists what the programs and the image consist of: an SPDX document.
func bill(id identity, programs []program, c contents, img dist) (string, []byte, error) {
	file := fmt.Sprintf("%s_%s.spdx.json", name, id.version)
	d := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: name + "-" + id.version,
		CreationInfo: spdxCreation{id.when.UTC().Format(time.RFC3339), []string{"Tool: hermes-exec-release", "Organization: hermes-exec"}},
	}
	own := d.addPackage(module{modulePath, id.version, "", "Apache-2.0", "git " + id.revision}, "APPLICATION")
	d.relate(d.SPDXID, "DESCRIBES", own)
	lib := d.addPackage(module{standard, goVersion(programs), "", c.licenses[standard].spdx, "the Go toolchain"}, "LIBRARY")
	ids := map[string]string{}
	deps := modules(programs)
	for _, path := range slices.Sorted(maps.Keys(deps)) {
		m := used(deps[path])
		ids[path] = d.addPackage(module{m.Path, m.Version, m.Sum, c.licenses[path].spdx, ""}, "LIBRARY")
	}
	whole := sha256.New()
	for _, p := range programs {
		f := d.addFile(p.String()+"/"+p.program(), p.data, "BINARY", "")
		d.relate(f, "GENERATED_FROM", own)
		d.relate(f, "STATIC_LINK", lib)
		for _, m := range p.info.Deps {
			d.relate(f, "STATIC_LINK", ids[m.Path])
		}
		whole.Write(p.data)
	}
	r := c.licenses[rootsModule]
	roots := d.addPackage(module{rootsModule, r.version, r.sum, r.spdx, ""}, "LIBRARY")
	f := d.addFile(img.name, img.data, "ARCHIVE", "the root certificates in it are those of "+rootsModule)
	d.relate(f, "CONTAINS", own)
	d.relate(f, "CONTAINS", roots)
	// One namespace for one content, and never two contents with one.
	d.DocumentNamespace = fmt.Sprintf("https://%s/spdx/%s-%x", modulePath, url.PathEscape(id.version), whole.Sum(nil)[:8])
	data, err := json.MarshalIndent(d, "", " ")
	return file, append(data, '\n'), err
}

// used is the module whose code it is: a replacement, where there is one.
func used(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// module is a package of the document. Sum is as in go.sum.
type module struct{ path, version, sum, license, source string }

// idRune is what an SPDX id may not have.
var idRune = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

func (d *spdxDocument) addPackage(m module, purpose string) string {
	p := spdxPackage{
		Name: m.path, VersionInfo: m.version, Purpose: purpose, SPDXID: "SPDXRef-Package-" + idRune.ReplaceAllString(m.path, "-"),
		DownloadLocation: noAssertion, LicenseConcluded: noAssertion, LicenseDeclared: m.license, CopyrightText: noAssertion, SourceInfo: m.source,
		ExternalRefs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.path + "@" + strings.ReplaceAll(url.PathEscape(m.version), "+", "%2B")}},
	}
	if p.LicenseDeclared == "" {
		p.LicenseDeclared = noAssertion
	}
	// It is the hash of the list of the module's files with theirs, which is what tools for Go expect
	// here, and not that of one archive.
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); m.sum != "" && err == nil {
		p.Checksums = []spdxChecksum{{"SHA256", hex.EncodeToString(sum)}}
		p.SourceInfo = "go.sum " + m.sum
	}
	d.Packages = append(d.Packages, p)
	return p.SPDXID
}

func (d *spdxDocument) addFile(file string, data []byte, kind, comment string) string {
	f := spdxFile{
		FileName: "./" + file, SPDXID: "SPDXRef-File-" + idRune.ReplaceAllString(file, "-"), FileTypes: []string{kind},
		Checksums: []spdxChecksum{
			{"SHA1", fmt.Sprintf("%x", sha1.Sum(data))},
			{"SHA256", fmt.Sprintf("%x", sha256.Sum256(data))},
		},
		LicenseConcluded: noAssertion, CopyrightText: noAssertion, Comment: comment,
	}
	d.Files = append(d.Files, f)
	return f.SPDXID
}

func (d *spdxDocument) relate(element, kind, related string) {
	d.Relationships = append(d.Relationships, spdxRelationship{element, kind, related})
}
