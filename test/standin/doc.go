// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command standin stands in for the providers that the examples in examples/tenants use: hashicorp/aws,
// hashicorp/random, Mongey/kafka, cyrilgdn/rabbitmq and cyrilgdn/postgresql. It is none of them. It serves the types of
// resources that those programs have, with the arguments that they give and the attributes that they read, and keeps
// what is made in the cloud of package test/cloud. No data sources: the programs read none.
//
// Nouns:
//
//   - A table is what one provider serves: the arguments of its block, and its kinds. The name that the program is
//     called by says which table it serves: terraform-provider-kafka_v0.7.0 is kafka.
//   - A kind is one type of resource: attributes, blocks, what the cloud says in return, and what it refuses.
//   - A pattern makes what the cloud says of what it was given: "arn:aws:s3:::{bucket}".
//
// Invariants:
//
//   - The cloud is found and entered as the real service would be: by the provider's endpoint and password, or by the
//     variables of the environment that the real provider reads. Credentials that do not arrive are an error.
//   - A name that is taken is refused, as the real services do. So is what they are known to refuse of these programs.
//   - Sensitive attributes are never in the readable content of an object of the cloud.
//
// What it does not do: it speaks no protocol of a real service, encrypts nothing, and its schemas are parts of the real
// ones. That a program runs with it says that the program is whole and that its parts fit; it says nothing about AWS.
package main
