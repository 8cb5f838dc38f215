"""Registers a symmetric key in a KMIP service, destroys one, or revokes it because others know it.

Arguments: PORT CERTIFICATE KEY AUTHORITY, then `register NAME GROUP` with the key in hexadecimal on standard input,
`destroy ID` or `compromise ID`. Prints the identifier of the key.
"""
import sys

from kmip.core import attributes, enums, objects
from kmip.core.factories.attributes import AttributeFactory
from kmip.core.misc import KeyFormatType
from kmip.core.secrets import SymmetricKey
from kmip.services.kmip_client import KMIPProxy


def register(service, name, group):
    key = bytes.fromhex(sys.stdin.read().strip())
    attribute = AttributeFactory().create_attribute
    kinds = enums.AttributeType
    text = enums.NameType.UNINTERPRETED_TEXT_STRING
    template = [
        attribute(kinds.CRYPTOGRAPHIC_USAGE_MASK, [enums.CryptographicUsageMask.ENCRYPT]),
        attribute(kinds.NAME, attributes.Name.create(name, text)),
        attribute(kinds.OBJECT_GROUP, group),
    ]
    block = objects.KeyBlock(
        key_format_type=KeyFormatType(enums.KeyFormatType.RAW),
        key_compression_type=None,
        key_value=objects.KeyValue(objects.KeyMaterial(key)),
        cryptographic_algorithm=attributes.CryptographicAlgorithm(enums.CryptographicAlgorithm.AES),
        cryptographic_length=attributes.CryptographicLength(len(key) * 8),
        key_wrapping_data=None,
    )
    template = objects.TemplateAttribute(attributes=template)
    return service.register(enums.ObjectType.SYMMETRIC_KEY, template, SymmetricKey(block))


def compromise(service, id):
    return service.revoke(enums.RevocationReasonCode.KEY_COMPROMISE, id)


port, certificate, key, authority, verb, *rest = sys.argv[1:]
service = KMIPProxy(
    host="127.0.0.1", port=int(port), certfile=certificate, keyfile=key, ca_certs=authority, ssl_version="PROTOCOL_TLSv1_2"
)
service.open()
verbs = {"register": register, "destroy": lambda service, id: service.destroy(id), "compromise": compromise}
answer = verbs[verb](service, *rest)
if answer.result_status.value != enums.ResultStatus.SUCCESS:
    sys.exit(str(answer.result_message))
print(answer.uuid if verb == "register" else rest[0])
