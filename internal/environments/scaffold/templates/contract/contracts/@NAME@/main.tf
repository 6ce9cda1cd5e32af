# A provider of the contract in its simplest form. Publish it with spec.publishes of its stack:
#
#   publishes: [{contract: @NAME@, output: @IDENTIFIER@}]
output "@IDENTIFIER@" {
  description = "The value of the contract @NAME@."
  value = {
    name = "example"
  }
}
