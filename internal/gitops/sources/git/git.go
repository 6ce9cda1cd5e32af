// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"net/url"
	"time"
)

// Upstream is a repository and what it is asked with.
type Upstream struct {
	// URL is https://…, http://…, ssh://… or file://….
	URL string
	// Secret is the data of the Secret with the credentials, as Flux has it: username and password, bearerToken,
	// identity, known_hosts and password, ca.crt (or caFile), tls.crt and tls.key. Nil without one.
	Secret map[string][]byte
	// Proxy is where connections go through, with its credentials: http:// or https:// for repositories of these two,
	// socks5:// for all. Nil without one.
	Proxy *url.URL
}

// Ref names a commit as the ref of a GitRepository does. Commit goes before Name, that before Tag, that before SemVer,
// that before Branch, as it is with Flux. Without any of them it is the branch master.
type Ref struct {
	Branch, Tag, SemVer, Name, Commit string
}

// Verify says which signatures a commit must have.
type Verify struct {
	// Mode is HEAD (or head): the commit; Tag: the tag that Ref leads to; TagAndHEAD: both.
	Mode string
	// Keys is the data of the Secret with the public keys: SSH keys where the name ends in .sshpub, else PGP keyrings.
	Keys map[string][]byte
}

// Want is what a caller wants of an upstream.
type Want struct {
	Ref Ref
	// Verify is nil when no signature is asked for.
	Verify *Verify
	// Sparse are the only directories to check out; empty means everything. All of them must be there.
	Sparse []string
	// Submodules says that repositories inside are checked out, too, and those inside of them.
	Submodules bool
	// MaxAge is how old a look may be to be used again. Zero asks the upstream now.
	MaxAge time.Duration
}

// Found is what an upstream has.
type Found struct {
	// Revision is in Flux's format: main@sha1:…, v1.2.3@sha1:…, refs/pull/1/head@sha1:…, sha1:….
	Revision string
	// Commit is the commit's hash.
	Commit string
	// Verified says what is signed with which key; empty when nothing was asked for.
	Verified string
	// ContentKey is equal for equal trees, whatever names them.
	ContentKey string
	// Upstream is the key of the upstream (see Mirrors.Key), by which Options.News tells of others' looks.
	Upstream string
	// LeftOut names links that lead out of the tree, the first few, once Fetch has left them out.
	LeftOut []string
	// Fetch puts the tree into dir, an empty directory. What is not in the mirror is fetched first. When it fails, dir
	// is of no use. It may be called again, and long after the look.
	Fetch func(ctx context.Context, dir string) error
}

// Options configure mirrors. Zero fields have defaults.
type Options struct {
	// FileDirs are the directories below which repositories are read by file:// URLs. None by default.
	FileDirs []string
	// MaxPack is the most bytes that one fetch may receive; 1 GiB.
	MaxPack int64
	// MaxObject is the size of the largest file in a repository; 128 MiB. Unpacking may take a few times this in memory.
	MaxObject int64
	// MaxTree and MaxEntries bound a checkout: the bytes of all files, 4 GiB, and their number, 200 000.
	MaxTree    int64
	MaxEntries int64
	// Parallel is how many packs are unpacked or checked out at the same time; 2. It bounds memory.
	Parallel int
	// News is told the key of an upstream whose references differ from those of the look before, or that answers again
	// after it did not, right after the look that found it: then everybody who follows the upstream can look, at no further
	// cost within their MaxAge. It must return quickly; it is called by the one who looked.
	News func(upstream string)
}

func (o Options) withDefaults() Options {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&o.MaxPack, 1<<30)
	set(&o.MaxObject, 128<<20)
	set(&o.MaxTree, 4<<30)
	set(&o.MaxEntries, 200_000)
	if o.Parallel <= 0 {
		o.Parallel = 2
	}
	if o.News == nil {
		o.News = func(string) {}
	}
	return o
}
