// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package declare

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Schema is the JSON schema of the file, for editors. It has the fields, their forms and their limits; what several
// fields say together, only [Read] checks.
func Schema() ([]byte, error) {
	store := one("A place that has the secrets.", map[string]any{
		"kubernetes": object("A Secret of Kubernetes, in Yuba's API or a cluster.", []string{"name"}, map[string]any{
			"namespace": text("The namespace; by default that of the command."), "name": text("The name of the Secret.")}),
		"sops": object("A file that SOPS encrypts for age keys.", []string{"file", "recipients"}, map[string]any{
			"file": form("The file, below the environment.", `\.yaml$`), "recipients": list("Public keys of age.", map[string]any{"type": "string", "pattern": "^age1"}, 1)}),
		"vault": object("A secret of Vault's KV engine, version 2.", []string{"address", "path"}, map[string]any{
			"address": address("The address of the Vault; it must be that of VAULT_ADDR."), "mount": text("The mount of the engine (secret)."),
			"path": text("The path of the secret."), "namespace": text("The namespace of a Vault Enterprise.")}),
		"ssm":              object("A parameter of AWS Systems Manager.", []string{"name", "region"}, aws("The name of the parameter.", "")),
		"secretsManager":   object("A secret of AWS Secrets Manager.", []string{"name", "region"}, aws("The name of the secret.", secretsManagerRE.String())),
		"gcpSecretManager": object("A secret of Google's Secret Manager.", []string{"project", "name"}, map[string]any{"project": form("The ID of the project.", googleProjectRE.String()), "name": form("The name of the secret.", googleNameRE.String()), "endpoint": address("The address of the service, if it is not Google's.")}),
		"azureKeyVault":    object("A secret of an Azure Key Vault.", []string{"vault", "name"}, map[string]any{"vault": address("The address of the key vault."), "name": form("The name of the secret.", azureNameRE.String())}),
	})
	duration := map[string]any{"type": "string", "description": "A duration, such as 90d, 12h or 1h30m."}
	secret := one("How a secret is made.", map[string]any{
		"password": object("A password.", nil, map[string]any{"length": number("Its length (32).", 12, 512), "symbols": text("Punctuation beside letters and digits.")}),
		"token": object("Random bytes.", nil, map[string]any{"bytes": number("How many (32).", 16, 256),
			"encoding": choice("How they are written (base64url).", "base64url", "hex"), "prefix": form("A prefix.", "^[^ =]*$")}),
		"keyPair": object("A private key and its public key.", nil, map[string]any{"algorithm": choice("The algorithm (ed25519).", Algorithms...),
			"ssh": flag("Also a line of authorized_keys.")}),
		"certificate": object("A certificate for TLS, with its key.", nil, map[string]any{"algorithm": choice("The algorithm of the key (ecdsa-p256).", Algorithms...),
			"commonName": text("The common name."), "dnsNames": list("The DNS names.", map[string]any{"type": "string"}, 0), "ipAddresses": list("The IP addresses.", map[string]any{"type": "string"}, 0),
			"validFor": duration, "ca": flag("It may sign others."), "signedBy": text("The secret whose certificate signs it.")}),
	})
	secret["properties"].(map[string]any)["rotateEvery"] = duration //nolint:forcetypeassert // see one
	root := object("The secrets of an environment: see docs/how-to/secrets.md.", []string{"store", "secrets"}, map[string]any{
		"store": map[string]any{"$ref": "#/definitions/store"}, "copies": list("Places that get the same values.", map[string]any{"$ref": "#/definitions/store"}, 0),
		"overlap": duration, "dependents": list("Stacks that read the secrets, NAME or NAMESPACE/NAME, in the order in which they run.", map[string]any{"type": "string"}, 0),
		"secrets": map[string]any{"type": "object", "description": "The secrets, by name.", "maxProperties": maxSecrets, "additionalProperties": false,
			"patternProperties": map[string]any{nameRE.String(): map[string]any{"$ref": "#/definitions/secret"}}},
	})
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", FileName
	root["definitions"] = map[string]any{"store": store, "secret": secret}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(root)
	return out.Bytes(), err
}

func object(description string, required []string, properties map[string]any) map[string]any {
	o := map[string]any{"type": "object", "description": description, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// one is an object with exactly one of the properties.
func one(description string, properties map[string]any) map[string]any {
	var alternatives []any
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		alternatives = append(alternatives, map[string]any{"required": []string{name}})
	}
	o := object(description, nil, properties)
	o["oneOf"] = alternatives
	return o
}

func text(description string) map[string]any {
	return map[string]any{"type": "string", "description": description}
}

func form(description, pattern string) map[string]any {
	return map[string]any{"type": "string", "description": description, "pattern": pattern}
}

func address(description string) map[string]any {
	return form(description, `^(https://|http://(127\.|localhost|\[::1\]))`)
}

func choice(description string, values ...string) map[string]any {
	return map[string]any{"type": "string", "description": description, "enum": values}
}

func flag(description string) map[string]any {
	return map[string]any{"type": "boolean", "description": description}
}

func number(description string, least, most int) map[string]any {
	return map[string]any{"type": "integer", "description": description, "minimum": least, "maximum": most}
}

func list(description string, items map[string]any, least int) map[string]any {
	l := map[string]any{"type": "array", "description": description, "items": items}
	if least > 0 {
		l["minItems"] = least
	}
	return l
}

func aws(name, pattern string) map[string]any {
	n := text(name)
	if pattern != "" {
		n = form(name, pattern)
	}
	return map[string]any{"name": n, "region": form("The region.", regionRE.String()), "keyID": text("The KMS key that encrypts it."),
		"endpoint": address("The address of the service, if it is not AWS's.")}
}
