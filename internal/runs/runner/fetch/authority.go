// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"path"
	"path/filepath"
)

// Authority is a variable of the environment that names certificates in the stack's own directories.
type Authority struct {
	Name string `json:"name"`
	// Files are the certificates by their names, Dir says that the variable names a directory.
	Files map[string][]byte `json:"files"`
	Dir   bool              `json:"dir,omitempty"`
}

const (
	// AuthorityPrefix begins the names of the variables that name certificates: SSL_CERT_FILE and SSL_CERT_DIR.
	AuthorityPrefix = "SSL_CERT_"
	// What is taken of a stack's certificates: more than any authority has.
	MaxCertificates     = 500
	MaxCertificateBytes = 4 << 20
	// authoritiesDir is where they are in the directory of a download.
	authoritiesDir = "authorities"
)

// files are the certificates as files of a download's directory.
func (a Authority) files() map[string][]byte {
	files := make(map[string][]byte, len(a.Files))
	for name, text := range a.Files {
		files[path.Join(authoritiesDir, a.Name, name)] = text
	}
	return files
}

// variable is the one that names them there.
func (a Authority) variable(dir string) string {
	name := path.Join(authoritiesDir, a.Name)
	if !a.Dir {
		name = path.Join(name, "ca.pem")
	}
	return a.Name + "=" + filepath.Join(dir, filepath.FromSlash(name))
}
