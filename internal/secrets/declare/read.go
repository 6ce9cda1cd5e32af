// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package declare

import (
	"errors"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/yuba-dev/yuba/internal/secrets/decide"
)

// maxSize and maxSecrets limit a file. A Secret of Kubernetes has at most 1 MiB.
const (
	maxSize    = 1 << 20
	maxSecrets = 500
)

// nameRE are the names of secrets: names of OpenTofu's variables, in lower case.
var nameRE = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// Read reads a file. Its error is a *ProblemsError with all mistakes.
func Read(name string, content []byte) (*File, error) {
	r := &reader{}
	f := r.file(content)
	if len(r.problems) == 0 {
		return f, nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return nil, &ProblemsError{name, r.problems}
}

func (r *reader) file(content []byte) *File {
	if len(content) > maxSize {
		r.problems = append(r.problems, Problem{1, 1, "the file has more than 1 MiB"})
		return nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		r.problems = append(r.problems, syntax(err))
		return nil
	}
	if len(doc.Content) == 0 {
		r.problems = append(r.problems, Problem{1, 1, "the file is empty; it needs store and secrets"})
		return nil
	}
	if at := aliased(&doc); at != nil {
		r.problem(at, "aliases are not supported")
		return nil
	}
	t := r.table(doc.Content[0], "the file")
	if t == nil {
		return nil
	}
	f := &File{}
	if node := t.take("store"); node != nil {
		f.Store = r.store(node, "store")
	} else {
		r.problem(t.node, "the file needs store: where the secrets are kept")
	}
	f.Copies = r.copies(t.take("copies"))
	f.Overlap = t.duration("overlap", 0)
	node := t.values["dependents"]
	f.Dependents = t.texts("dependents")
	secrets := t.take("secrets")
	r.secrets(f, secrets, t.node)
	r.braces(f, secrets)
	if len(f.Dependents) > 0 && f.Store.SOPS != nil && len(f.Objects()) == 0 {
		r.problem(node, "dependents cannot read the file of sops; add a Secret of Kubernetes to copies")
	}
	t.done()
	return f
}

// lineRE finds the line in an error of the YAML library, which quotes the file otherwise.
var lineRE = regexp.MustCompile(`line (\d+)`)

func syntax(err error) Problem {
	p := Problem{1, 1, "the file is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if match := lineRE.FindStringSubmatch(err.Error()); match != nil {
		p.Line, _ = strconv.Atoi(match[1]) // of digits
	}
	return p
}

// aliased finds an alias: a small file of them may become a huge one.
func aliased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node
	}
	for _, child := range node.Content {
		if at := aliased(child); at != nil {
			return at
		}
	}
	return nil
}

func (r *reader) copies(node *yaml.Node) []Store {
	if node == nil {
		return nil
	}
	if node.Kind != yaml.SequenceNode {
		r.problem(node, "copies is not a list")
		return nil
	}
	var list []Store
	for _, item := range node.Content {
		list = append(list, r.store(item, "a copy"))
	}
	return list
}

func (r *reader) store(node *yaml.Node, where string) Store {
	var s Store
	t := r.table(node, where)
	if t == nil {
		return s
	}
	kinds := 0
	part := func(key string) *table {
		if at := t.take(key); at != nil {
			kinds++
			return r.table(at, key)
		}
		return nil
	}
	if p := part("kubernetes"); p != nil {
		s.Kubernetes = p.kubernetes()
	}
	if p := part("sops"); p != nil {
		s.SOPS = p.sops()
	}
	if p := part("vault"); p != nil {
		s.Vault = &Vault{Address: p.address("address"), Mount: p.text("mount", "secret"), Path: p.required("path"), Namespace: p.text("namespace", "")}
		p.clean("mount", s.Vault.Mount)
		p.clean("path", s.Vault.Path)
		p.done()
	}
	if p := part("ssm"); p != nil {
		s.SSM = p.ssm()
	}
	if p := part("secretsManager"); p != nil {
		s.AWS = p.secretsManager()
	}
	if p := part("gcpSecretManager"); p != nil {
		s.Google = p.google()
	}
	if p := part("azureKeyVault"); p != nil {
		s.Azure = p.azure()
	}
	if kinds != 1 {
		r.problem(node, "%s needs exactly one of %s", where, strings.Join(t.known, ", "))
	}
	t.done()
	return s
}

func (t *table) kubernetes() *Kubernetes {
	node := t.values["name"]
	k := &Kubernetes{Namespace: t.text("namespace", ""), Name: t.required("name")}
	if node != nil && len(validation.IsDNS1123Subdomain(k.Name)) > 0 {
		t.problem(node, "%s: %q is not a valid name of a Secret", t.where, k.Name)
	}
	t.done()
	return k
}

func (t *table) sops() *SOPS {
	node, keys := t.values["file"], t.values["recipients"]
	s := &SOPS{File: t.required("file"), Recipients: t.texts("recipients")}
	if s.File != "" && (path.IsAbs(s.File) || path.Clean(s.File) != s.File || strings.HasPrefix(s.File, "..") || !strings.HasSuffix(s.File, ".yaml")) {
		t.problem(node, "sops: file is %q; want a path below the environment that ends with .yaml", s.File)
	}
	if s.File == FileName {
		t.problem(node, "sops: file is this file")
	}
	if len(s.Recipients) == 0 {
		t.problem(t.node, "sops needs recipients: public keys of age")
	}
	for i, recipient := range s.Recipients {
		if !strings.HasPrefix(recipient, "age1") && keys != nil && i < len(keys.Content) {
			t.problem(keys.Content[i], "sops: %q is not a public key of age", recipient)
		}
	}
	t.done()
	return s
}

func (r *reader) secrets(f *File, node, root *yaml.Node) {
	if node == nil {
		r.problem(root, "the file needs secrets")
		return
	}
	t := r.table(node, "secrets")
	if t == nil {
		return
	}
	if len(t.values) > maxSecrets {
		r.problem(node, "secrets has %d entries; at most %d are supported", len(t.values), maxSecrets)
		return
	}
	at := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if at[key.Value] != nil {
			continue // reported
		}
		at[key.Value] = key
		switch {
		case !nameRE.MatchString(key.Value):
			r.problem(key, "the name %q of a secret must consist of lower-case letters, digits and _, as it is the name of a variable", key.Value)
			continue
		case strings.HasSuffix(key.Value, decide.Previous), strings.HasSuffix(key.Value, decide.Retired):
			r.problem(key, "the name of a secret must not end with %s or %s, which mark old values", decide.Previous, decide.Retired)
			continue
		case strings.HasSuffix(key.Value, decide.Plain):
			r.problem(key, "the name of a secret must not end with %s: sops does not encrypt such values", decide.Plain)
			continue
		}
		if s := r.secret(key, node.Content[i+1]); s != nil {
			f.Secrets = append(f.Secrets, *s)
		}
	}
	r.unique(f, at)
	r.signers(f, at)
}

func (r *reader) secret(key, node *yaml.Node) *Secret {
	t := r.table(node, "secret "+key.Value)
	if t == nil {
		return nil
	}
	s := &Secret{Name: key.Value, Line: key.Line}
	if every := t.duration("rotateEvery", time.Hour); every != nil {
		s.Every = *every
	}
	kinds := 0
	part := func(name string) *table {
		if at := t.take(name); at != nil {
			kinds++
			return r.table(at, name+" of "+s.Name)
		}
		return nil
	}
	if p := part("password"); p != nil {
		s.Password = p.password()
	}
	if p := part("token"); p != nil {
		s.Token = &Token{Bytes: p.number("bytes", 32, 16, 256), Encoding: p.chosen("encoding", "base64url", "base64url", "hex"), Prefix: p.text("prefix", "")}
		if strings.ContainsAny(s.Token.Prefix, " =") {
			p.problem(p.node, "%s: prefix must not contain spaces or =", p.where)
		}
		p.done()
	}
	if p := part("keyPair"); p != nil {
		s.KeyPair = &KeyPair{Algorithm: p.chosen("algorithm", Ed25519, Algorithms...), SSH: p.flag("ssh")}
		p.done()
	}
	if p := part("certificate"); p != nil {
		s.Certificate = p.certificate()
	}
	if kinds != 1 {
		r.problem(key, "secret %s needs exactly one of password, token, keyPair, certificate", s.Name)
		s = nil
	}
	t.done()
	return s
}

func (t *table) password() *Password {
	node := t.values["symbols"]
	p := &Password{Length: t.number("length", 32, 12, 512), Symbols: t.text("symbols", "")}
	for i, c := range p.Symbols {
		if c <= ' ' || c > '~' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune(p.Symbols[:i], c) {
			t.problem(node, "%s: symbols must be distinct punctuation of ASCII", t.where)
			break
		}
	}
	t.done()
	return p
}

func (t *table) certificate() *Certificate {
	c := &Certificate{Algorithm: t.chosen("algorithm", P256, Algorithms...), CommonName: t.text("commonName", ""), ValidFor: 365 * 24 * time.Hour}
	names, addresses := t.values["dnsNames"], t.values["ipAddresses"]
	c.DNSNames, c.IPAddresses = t.texts("dnsNames"), t.texts("ipAddresses")
	if valid := t.duration("validFor", time.Hour); valid != nil {
		c.ValidFor = *valid
	}
	c.CA, c.SignedBy = t.flag("ca"), t.text("signedBy", "")
	for i, name := range c.DNSNames {
		if len(validation.IsDNS1123Subdomain(strings.TrimPrefix(name, "*."))) > 0 {
			t.problem(names.Content[min(i, len(names.Content)-1)], "%s: %q is not a valid DNS name", t.where, name)
		}
	}
	for i, text := range c.IPAddresses {
		if _, err := netip.ParseAddr(text); err != nil {
			t.problem(addresses.Content[min(i, len(addresses.Content)-1)], "%s: %q is not an IP address", t.where, text)
		}
	}
	if c.CommonName == "" && len(c.DNSNames)+len(c.IPAddresses) == 0 {
		t.problem(t.node, "%s needs commonName, dnsNames or ipAddresses", t.where)
	}
	t.done()
	return c
}

// braces rejects passwords and prefixes that may contain {{, if a place is in SSM, which refuses it.
func (r *reader) braces(f *File, node *yaml.Node) {
	if !slices.ContainsFunc(slices.Concat([]Store{f.Store}, f.Copies), func(s Store) bool { return s.SSM != nil }) {
		return
	}
	for i := range f.Secrets {
		s := &f.Secrets[i]
		if s.Password != nil && strings.Contains(s.Password.Symbols, "{") || s.Token != nil && strings.Contains(s.Token.Prefix, "{") {
			at := *node
			at.Line, at.Column = s.Line, 1
			r.problem(&at, "secret %s: SSM refuses values with {{; leave out {", s.Name)
		}
	}
}

// unique rejects secrets whose parts have the same name.
func (r *reader) unique(f *File, at map[string]*yaml.Node) {
	owner := map[string]string{}
	for i := range f.Secrets {
		s := &f.Secrets[i]
		for _, part := range s.Parts() {
			if other, taken := owner[part]; taken {
				r.problem(at[s.Name], "secrets %s and %s both have the part %s; rename one", other, s.Name, part)
			}
			owner[part] = s.Name
		}
	}
}

// errCycle ends an ordering.
var errCycle = errors.New("cycle")

// signers checks who signs whom, and sorts signers before what they sign.
func (r *reader) signers(f *File, at map[string]*yaml.Node) {
	var sorted []Secret
	state := map[string]int{}
	var visit func(s *Secret) error
	visit = func(s *Secret) error {
		switch state[s.Name] {
		case 1:
			return errCycle
		case 2:
			return nil
		}
		state[s.Name] = 1
		if c := s.Certificate; c != nil && c.SignedBy != "" {
			signer := f.Secret(c.SignedBy)
			if signer == nil || signer.Certificate == nil || !signer.Certificate.CA {
				r.problem(at[s.Name], "secret %s: signedBy names %s, which is not a certificate with ca: true", s.Name, c.SignedBy)
			} else if err := visit(signer); err != nil {
				return err
			}
		}
		state[s.Name] = 2
		sorted = append(sorted, *s)
		return nil
	}
	for i := range f.Secrets {
		if visit(&f.Secrets[i]) != nil {
			r.problem(at[f.Secrets[i].Name], "secret %s: signedBy has a cycle", f.Secrets[i].Name)
			return
		}
	}
	f.Secrets = sorted
}
