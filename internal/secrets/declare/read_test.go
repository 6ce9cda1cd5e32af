// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package declare

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const valid = `
store:
  kubernetes: {namespace: staging, name: shop-secrets}
copies:
  - vault: {address: https://vault.example.com:8200, path: shop/staging}
overlap: 1h
dependents: [database, other/app]
secrets:
  web:
    certificate: {dnsNames: [shop.example.com], signedBy: ca}
  ca:
    certificate: {commonName: Shop CA, ca: true, validFor: 3650d}
  database:
    password: {length: 40, symbols: "-_"}
    rotateEvery: 90d
  api:
    token: {encoding: hex, prefix: sk_}
  signing:
    keyPair: {ssh: true}
`

func TestReadsAFile(t *testing.T) {
	f, err := Read("secrets.yaml", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range f.Secrets {
		s := &f.Secrets[i]
		lines = append(lines, s.Name+": "+s.Generator()+" -> "+strings.Join(s.Parts(), " "))
	}
	want := []string{
		"ca: certificate algorithm=ecdsa-p256 commonName=Shop_CA validFor=3650d ca=true -> ca_certificate ca_key ca_ca",
		"web: certificate algorithm=ecdsa-p256 dnsNames=shop.example.com validFor=365d signedBy=ca -> web_certificate web_key web_ca",
		"database: password length=40 symbols=-_ -> database",
		"api: token bytes=32 encoding=hex prefix=sk_ -> api",
		"signing: keyPair algorithm=ed25519 ssh=true -> signing_private signing_public signing_ssh",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s", strings.Join(lines, "\n"))
	}
	if f.Secret("database").Every != 90*24*time.Hour || *f.Overlap != time.Hour || f.Store.Kubernetes.Namespace != "staging" || f.Copies[0].Vault.Mount != "secret" {
		t.Errorf("got %+v", f)
	}
}

func TestProblemsHavePlaces(t *testing.T) {
	const store = "store: {kubernetes: {name: s}}\n"
	for content, want := range map[string]string{
		"": `secrets.yaml:1:1: the file is empty; it needs store and secrets`,
		"store: {kubernetes: {name: s}\nsecrets: {}\n": `secrets.yaml:1:1: the file is not YAML: line 1: did not find expected ',' or '}'`,
		"secrets: {}\n": `secrets.yaml:1:1: the file needs store: where the secrets are kept`,
		store:           `secrets.yaml:1:1: the file needs secrets`,
		store + "secrets:\n  db:\n    pasword: {}\n":                                                                                   "secrets.yaml:3:3: secret db needs exactly one of password, token, keyPair, certificate\nsecrets.yaml:4:5: secret db has no key \"pasword\"; did you mean \"password\"?",
		store + "secrets:\n  db:\n    password: {length: 4}\n":                                                                         `secrets.yaml:4:24: password of db: length must be a number from 12 to 512`,
		store + "secrets:\n  DB:\n    password: {}\n":                                                                                  `secrets.yaml:3:3: the name "DB" of a secret must consist of lower-case letters, digits and _, as it is the name of a variable`,
		store + "secrets:\n  db_previous:\n    password: {}\n":                                                                         `secrets.yaml:3:3: the name of a secret must not end with _previous or _retired, which mark old values`,
		store + "secrets:\n  api_unencrypted:\n    password: {}\n":                                                                     `secrets.yaml:3:3: the name of a secret must not end with _unencrypted: sops does not encrypt such values`,
		store + "secrets:\n  db: {password: {}, rotateEvery: monthly}\n":                                                               `secrets.yaml:3:35: secret db: rotateEvery is "monthly"; want a duration such as 90d, 36h or 10m`,
		store + "secrets:\n  k: {keyPair: {algorithm: dsa}}\n":                                                                         `secrets.yaml:3:28: keyPair of k: algorithm is "dsa"; want one of ed25519, ecdsa-p256, rsa-3072, rsa-4096`,
		store + "secrets:\n  k: {keyPair: {}}\n  k_public: {password: {}}\n":                                                           `secrets.yaml:4:3: secrets k and k_public both have the part k_public; rename one`,
		store + "secrets:\n  a: {password: {}}\n  a: {token: {}}\n":                                                                    `secrets.yaml:4:3: secrets has a twice`,
		store + "secrets:\n  a: &x {password: {}}\n  b: *x\n":                                                                          `secrets.yaml:4:6: aliases are not supported`,
		store + "secrets:\n  w: {certificate: {dnsNames: [a], signedBy: ca}}\n":                                                        `secrets.yaml:3:3: secret w: signedBy names ca, which is not a certificate with ca: true`,
		store + "secrets:\n  w: {certificate: {commonName: w, ca: true, signedBy: w}}\n":                                               `secrets.yaml:3:3: secret w: signedBy has a cycle`,
		store + "secrets:\n  w: {certificate: {}}\n":                                                                                   `secrets.yaml:3:20: certificate of w needs commonName, dnsNames or ipAddresses`,
		store + "secrets:\n  p: {password: {symbols: aa}}\n":                                                                           `secrets.yaml:3:27: password of p: symbols must be distinct punctuation of ASCII`,
		"store: {vault: {address: http://vault.example.com, path: a}}\nsecrets: {}\n":                                                  `secrets.yaml:1:26: vault: address is "http://vault.example.com"; want https://HOST, or http:// on loopback`,
		"store: {vault: {address: https://v, path: ../a}}\nsecrets: {}\n":                                                              `secrets.yaml:1:16: vault: path is "../a"; want a path without empty parts, spaces, ?, # and %`,
		"store: {vault: {address: https://v, path: a}, kubernetes: {name: s}}\nsecrets: {}\n":                                          `secrets.yaml:1:8: store needs exactly one of kubernetes, sops, vault, ssm, secretsManager, gcpSecretManager, azureKeyVault`,
		"store: {sops: {file: ../x.yaml, recipients: [age1x]}}\nsecrets: {}\n":                                                         `secrets.yaml:1:22: sops: file is "../x.yaml"; want a path below the environment that ends with .yaml`,
		"store: {sops: {file: x.yaml, recipients: [age1x]}}\ndependents: [a]\nsecrets: {}\n":                                           `secrets.yaml:2:13: dependents cannot read the file of sops; add a Secret of Kubernetes to copies`,
		"store: {sops: {file: x.yaml, recipients: [AGE-SECRET-KEY-1]}}\nsecrets: {}\n":                                                 `secrets.yaml:1:43: sops: "AGE-SECRET-KEY-1" is not a public key of age`,
		"store: {ssm: {name: /a, region: eu-central-1, endpoint: \"https://u:p@h\"}}\nsecrets: {}\n":                                   `secrets.yaml:1:57: ssm: endpoint is "https://u:p@h"; want https://HOST, or http:// on loopback`,
		"store: {ssm: {name: /a, region: evil.example/x}}\nsecrets: {}\n":                                                              `secrets.yaml:1:33: ssm: region is "evil.example/x"; want one such as eu-central-1`,
		"store: {ssm: {name: /a, region: eu-central-1}}\nsecrets:\n  p: {password: {symbols: \"-{\"}}\n":                               `secrets.yaml:3:1: secret p: SSM refuses values with {{; leave out {`,
		"store: {kubernetes: {name: s}}\ncopies: [{ssm: {name: /a, region: eu-central-1}}]\nsecrets:\n  p: {token: {prefix: \"{\"}}\n": `secrets.yaml:4:1: secret p: SSM refuses values with {{; leave out {`,
		"store: [x]\nsecrets: {}\n":                                                                                                    `secrets.yaml:1:8: store is not a mapping`,
		"store: {kubernetes: {name: Not_A_Name}}\nsecrets: {}\n":                                                                       `secrets.yaml:1:28: kubernetes: "Not_A_Name" is not a valid name of a Secret`,
	} {
		_, err := Read("secrets.yaml", []byte(content))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", content, err, want)
		}
	}
}

// Whatever the file says, reading ends without a panic, and what is accepted is consistent.
func FuzzRead(f *testing.F) {
	f.Add([]byte(valid))
	f.Add([]byte("store: {sops: {file: x.yaml, recipients: [age1x]}}\nsecrets: {a: {certificate: {dnsNames: [a, 1], ipAddresses: [x]}}}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := Read("secrets.yaml", content)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for i := range file.Secrets {
			for _, part := range file.Secrets[i].Parts() {
				if seen[part] {
					t.Fatalf("two secrets have the part %s", part)
				}
				seen[part] = true
			}
		}
	})
}
